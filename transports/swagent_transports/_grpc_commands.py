"""Profile tasks and settings over gRPC: what is asked, and how an answer is read, by betterproto's generated messages.

Mostly an answer is empty. The first one that is not loads betterproto, which takes longer than the loop may be held: so
it is read in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from swagent.abc import Command, Instance
from swagent.backend import call_in_thread
from swagent.errors import RejectedError
from swagent_proto import wire

from ._retry_info import fields

ASK = "/skywalking.v3.ProfileTask/getProfileTaskCommands"
FINISH = "/skywalking.v3.ProfileTask/reportTaskFinish"
ASK_CONFIGURATION = "/skywalking.v3.ConfigurationDiscoveryService/fetchConfigurations"

_MAX_BYTES = 8 * 1024
# A task has some thirty, a setting three. betterproto takes tens of microseconds for each.
_MAX_FIELDS = 128
# The field numbers of the commands in the answer, and of the arguments in a command.
_NESTED = (1, 2)


def question(instance: Instance, since: int) -> bytes:
    """Which tasks were made after a moment.

    :param since: milliseconds since the epoch
    """
    return wire.profile_task_command_query(instance.service, instance.name, since)


def finish(instance: Instance, task: str) -> bytes:
    """That a task is over."""
    return wire.profile_task_finish_report(instance.service, instance.name, task)


def configuration_question(instance: Instance, uuid: str) -> bytes:
    """Which settings the service has, unless they are those of this UUID."""
    return wire.configuration_sync_request(instance.service, uuid)


async def read_commands(answer: bytes) -> Sequence[Command]:
    """The commands of an answer.

    :raises RejectedError: when it cannot be read, or says too much
    """
    if not answer:
        return ()
    _check(answer)
    try:
        return await call_in_thread(partial(_read, answer), "swagent-commands")
    except Exception as error:
        # whatever its bytes make the parser do, or the system has no thread to spare
        raise RejectedError(f"an answer that cannot be read: {type(error).__name__}") from error


def _check(answer: bytes) -> None:
    """Refuse what would take long to read."""
    try:
        is_too_much = len(answer) > _MAX_BYTES or any(place >= _MAX_FIELDS for place, _ in enumerate(_walk(answer)))
    except (ValueError, IndexError) as error:
        raise RejectedError("an answer to a question for commands that cannot be read") from error
    if is_too_much:
        raise RejectedError(f"an answer of {len(answer)} bytes to a question for commands")


def _walk(message: bytes, depth: int = 0) -> Iterator[None]:
    """Once for each field of an answer, and of what is nested in it."""
    for number, value in fields(message):
        yield
        if depth < len(_NESTED) and number == _NESTED[depth] and isinstance(value, bytes):
            yield from _walk(value, depth + 1)


def _read(answer: bytes) -> Sequence[Command]:
    # rare, so it is loaded when it is needed first
    from swagent_proto.messages import Commands  # noqa: PLC0415, RUF100

    found = Commands().parse(answer).commands
    return [Command(each.command, {pair.key: pair.value for pair in each.args}) for each in found]
