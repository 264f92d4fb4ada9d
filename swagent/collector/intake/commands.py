"""The answer to an agent that asks for profile tasks: the tasks that were made here, as SkyWalking's own command."""

from __future__ import annotations

import time
from typing import Any

from ..store.profile_tasks import ProfileTask
from ..store.protocol import message_class
from ..store.store import Store

_COMMAND = "ProfileTaskQuery"
_MINUTE = 60


def profile_commands(store: Store, query: Any) -> bytes:
    """The answer to a question; empty: there is nothing to do.

    :raises StoreError: when the store cannot be written
    """
    tasks = store.assign_profiles(query.service, query.serviceInstance, query.lastCommandTime)
    if not tasks:
        return b""
    now = int(time.time() * 1000)
    command, pair = message_class("Command"), message_class("KeyStringValuePair")
    commands = [
        command(command=_COMMAND, args=[pair(key=key, value=value) for key, value in _arguments(task, now).items()])
        for task in tasks
    ]
    answer: bytes = message_class("Commands")(commands=commands).SerializeToString()
    return answer


def _arguments(task: ProfileTask, now: int) -> dict[str, str]:
    # The protocol counts in whole minutes. A task of 20 seconds is one of a minute that began 40 seconds ago: agents
    # that count from its start end it in time, and others take the minute.
    minutes = -(-task.seconds // _MINUTE)
    return {
        "SerialNumber": task.id,
        "TaskId": task.id,
        "EndpointName": task.endpoint,
        "Duration": str(minutes),
        "MinDurationThreshold": str(task.min_ms),
        "DumpPeriod": str(task.period),
        "MaxSamplingCount": str(task.samples),
        "StartTime": str(now + (task.seconds - minutes * _MINUTE) * 1000),
        "CreateTime": str(task.created),
    }
