"""The collector's side of profiles in a run with `--everything`: a new task each minute for each application."""

from __future__ import annotations

import time

from swagent_proto.messages import Command, Commands, KeyStringValuePair, ProfileTaskCommandQuery

ENDPOINT = "GET:/work"
_EVERY = 60_000
_TASK = {
    "EndpointName": ENDPOINT, "Duration": "1", "MinDurationThreshold": "0", "DumpPeriod": "10", "MaxSamplingCount": "9",
}  # fmt: skip


def tasks_for(question: bytes) -> bytes:
    """The answer to an agent that asks for profile tasks: a task, where its newest one is a minute old."""
    now = int(time.time() * 1000)
    if ProfileTaskCommandQuery().parse(question).last_command_time > now - _EVERY:
        return b""
    given = {**_TASK, "SerialNumber": str(now), "TaskId": str(now), "StartTime": str(now), "CreateTime": str(now)}
    arguments = [KeyStringValuePair(key, value) for key, value in given.items()]
    return bytes(Commands([Command("ProfileTaskQuery", arguments)]))
