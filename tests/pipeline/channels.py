"""A channel with small bounds on a clock that is stopped until it is moved."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from swagent.pipeline.batcher import Batcher
from swagent.pipeline.channel import Channel
from swagent.signals import Bounds, Overflow, Signal

BOUNDS = Bounds(
    max_items=5,
    max_bytes=100,
    max_item_bytes=60,
    max_age=60.0,
    batch_items=3,
    batch_bytes=1000,
    batch_delay=0.5,
    overflow=Overflow.REFUSE_NEWEST,
)
EVICTING: dict[str, Any] = {"overflow": Overflow.EVICT_OLDEST}
AMPLE: dict[str, Any] = {"max_items": 100_000, "max_bytes": 100_000_000}


@dataclass
class Clock:
    """Monotonic seconds that pass on request."""

    now: float = 0.0
    readings: int = field(default=0, compare=False)

    def __call__(self) -> float:
        self.readings += 1
        return self.now


def channel_of(clock: Clock | None = None, **changes: Any) -> Channel:
    return Channel(Signal.SEGMENT, BOUNDS._replace(**changes), clock or Clock())


def batcher_of(channel: Channel) -> Batcher:
    bounds = channel.bounds
    return Batcher(bounds.batch_items, bounds.batch_bytes, bounds.batch_delay)


def filled(*records: bytes, clock: Clock | None = None, **changes: Any) -> Channel:
    channel = channel_of(clock, **changes)
    fill(channel, *records)
    return channel


def fill(channel: Channel, *records: bytes) -> None:
    for record in records:
        assert channel.offer(record)


def waiting(channel: Channel) -> list[bytes]:
    """The records of the next leases, without taking them."""
    lease = channel.lease(1_000_000, 1_000_000_000)
    lease.release()
    return list(lease.records)


def interrupted(operation: Callable[[], object], at: int, interrupt: Callable[[], object]) -> bool:
    """Run an operation and interrupt it at its n-th call. False: it makes fewer calls than that."""
    calls = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        if event in ("call", "c_call", "c_return"):
            calls += 1
            if calls == at:
                interrupt()

    sys.setprofile(count)
    try:
        operation()
    finally:
        sys.setprofile(None)
    return calls >= at
