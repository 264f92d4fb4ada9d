"""Events of the instance: that it started, and that it stops, as SkyWalking's other agents report them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """Something that happened to the instance. Times are milliseconds since the epoch."""

    name: str
    message: str
    start_time: int
    end_time: int
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    id: str = field(default_factory=lambda: os.urandom(16).hex())


def started(since: float) -> Event:
    """The agent takes in records.

    :param since: when it began to start, in seconds since the epoch
    """
    return Event("Start", "Start Python Application", int(since * 1000), int(time.time() * 1000))


def stopping(ledger: Mapping[str, str]) -> Event:
    """The agent takes nothing more in.

    :param ledger: what became of the records of each signal
    """
    now = int(time.time() * 1000)
    return Event("Shutdown", "Shutting down Python Application", now, now, ledger)


def loop_blocked(ended_at: float, seconds: float, frame: str, since_last: int) -> Event:
    """The event loop did not turn.

    :param ended_at: in seconds since the epoch
    :param frame: where in the code it was held for longest
    :param since_last: how often that happened since the last such event, this time included
    """
    milliseconds = round(seconds * 1000)
    parameters = {"duration": str(milliseconds), "frame": frame, "count": str(since_last)}
    end = int(ended_at * 1000)
    message = f"The event loop did not turn for {milliseconds} ms: {frame}"
    return Event("loop_blocked", message, end - milliseconds, end, parameters)
