"""Events of the instance: that it started, and that it stops, as SkyWalking's other agents report them."""

from __future__ import annotations

import time
import uuid
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
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


def started(since: float) -> Event:
    """The agent takes in records.

    :param since: when it began to start, in seconds since the epoch
    """
    return Event("Start", "Start Python Application", int(since * 1000), int(time.time() * 1000))


def stopping() -> Event:
    """The agent takes nothing more in."""
    now = int(time.time() * 1000)
    return Event("Shutdown", "Shutting down Python Application", now, now)
