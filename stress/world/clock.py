"""The world's time: one virtual clock for the loop, for `time`, and for what the network has under way."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import anyio
import trio
from trio.testing import MockClock

from .loop import Patience, WorldLoop

_MOST_ROUNDS = 20_000
EPOCH = 1_750_000_000.0
"""What the clock on the wall shows at the begin of every history."""


class Clock(Protocol):
    """Time, and calls at a time."""

    def now(self) -> float:
        """Seconds since the begin of the history. Anywhere in the loop's thread."""
        ...

    def hold(self, seconds: float) -> None:
        """Let time pass while nothing else runs, as a step does that holds the loop."""
        ...

    def call_at(self, when: float, function: Callable[[], object]) -> None:
        """Call a function at a time. Those of the same time in any order."""
        ...


class AsyncioClock:
    """The clock of a `WorldLoop`."""

    def __init__(self, loop: WorldLoop) -> None:
        self._loop = loop
        self.now = loop.time
        self.hold = loop.jump

    def call_at(self, when: float, function: Callable[[], object]) -> None:
        """See `Clock`."""
        self._loop.call_at(when, function)


def jumping_clock() -> MockClock:
    """trio's own, and a run in which no time passes fails, or in which nothing ever happens any more."""
    clock, patience = MockClock(autojump_threshold=0), Patience(_MOST_ROUNDS)
    usual = clock.deadline_to_sleep_time

    def seen(deadline: float) -> float:
        # called once in each round
        patience.check(clock.current_time())
        return 0.0 if deadline == math.inf else usual(deadline)

    clock.deadline_to_sleep_time = seen  # type: ignore[method-assign]
    return clock


class TrioClock:
    """The clock of a run of trio. Its calls at a time are made by `run`, a task of the world's."""

    def __init__(self, clock: MockClock) -> None:
        self._clock = clock
        self.now = clock.current_time
        self.hold = clock.jump
        self._numbers = itertools.count()
        self._calls: list[tuple[float, int, Callable[[], object]]] = []
        self._changed = trio.Event()

    def call_at(self, when: float, function: Callable[[], object]) -> None:
        """See `Clock`."""
        heapq.heappush(self._calls, (when, next(self._numbers), function))
        if self._calls[0][2] is function:
            self._changed.set()

    async def run(self) -> None:
        """Make the calls, until it is cancelled."""
        while True:
            while self._calls and self._calls[0][0] <= self.now():
                heapq.heappop(self._calls)[2]()
            self._changed = trio.Event()
            with trio.move_on_at(self._calls[0][0] if self._calls else math.inf):
                await self._changed.wait()


class WallClock:
    """What `time.time()` shows: it goes on with the virtual clock, and it can be set.

    :ivar offset: by how many seconds it was set
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.offset = 0.0

    def time(self) -> float:
        """Seconds since the epoch."""
        return EPOCH + self.offset + self._clock.now()

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let the functions of `time` show the virtual time. Who took them from the module before shows real time."""
        before = time.time, time.time_ns, time.monotonic, time.perf_counter
        time.time, time.time_ns = self.time, lambda: int(self.time() * 1e9)
        time.monotonic = time.perf_counter = self._clock.now
        try:
            yield
        finally:
            time.time, time.time_ns, time.monotonic, time.perf_counter = before


async def sleep_until(when: float) -> None:
    """Sleep until a time of the virtual clock; at least one turn of the loop."""
    await anyio.sleep_until(when)
