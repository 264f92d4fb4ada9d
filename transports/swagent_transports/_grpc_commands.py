"""Profile tasks over gRPC: what is asked, and how the answer is read, by betterproto's generated messages."""

from __future__ import annotations

from collections.abc import Sequence

from swagent.abc import Command, Instance
from swagent.errors import RejectedError
from swagent_proto.messages import Commands, ProfileTaskCommandQuery, ProfileTaskFinishReport

ASK = "/skywalking.v3.ProfileTask/getProfileTaskCommands"
FINISH = "/skywalking.v3.ProfileTask/reportTaskFinish"

# A task takes some 300 bytes. To read the smallest messages of a longer answer would hold the loop for too long.
_MAX_ANSWER = 8 * 1024


def question(instance: Instance, since: int) -> bytes:
    """Which tasks were made after a moment.

    :param since: milliseconds since the epoch
    """
    return bytes(ProfileTaskCommandQuery(instance.service, instance.name, since))


def finish(instance: Instance, task: str) -> bytes:
    """That a task is over."""
    return bytes(ProfileTaskFinishReport(instance.service, instance.name, task))


def read(answer: bytes) -> Sequence[Command]:
    """The commands of an answer.

    :raises RejectedError: when they cannot be read
    """
    if len(answer) > _MAX_ANSWER:
        raise RejectedError(f"an answer of {len(answer)} bytes to a question for profile tasks")
    try:
        found = Commands().parse(answer).commands
        return [Command(each.command, {pair.key: pair.value for pair in each.args}) for each in found]
    except Exception as error:
        # whatever its bytes make the parser do
        raise RejectedError(f"an answer that cannot be read: {type(error).__name__}") from error
