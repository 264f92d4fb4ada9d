"""Does long work in the collector's event loop without holding up what else runs there.

Reports, answers and signals share one loop. So whoever has much to do stops every few milliseconds and lets the others
run. A worker thread would not help: a database in memory has one connection, and the parsers in C keep the interpreter
for themselves.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TypeVar

import anyio.lowlevel

BREATH = 0.005
"""Seconds that a piece takes, about."""
_FIRST, _MOST = 250, 16_000
T = TypeVar("T")


class Pace:
    """One long work.

    :ivar size: how many rows to look at next
    """

    def __init__(self) -> None:
        self.size = _FIRST
        self._began = time.perf_counter()

    @property
    def is_due(self) -> bool:
        """Whether it is time to let others run."""
        return time.perf_counter() - self._began >= BREATH

    async def breathe(self) -> None:
        """Between two short steps: let others run, when it is time."""
        if time.perf_counter() - self._began >= BREATH:
            await self.rest()

    async def step(self) -> None:
        """After a piece of `size` rows: let others run, and take the measure for the next one."""
        took = time.perf_counter() - self._began
        if took < BREATH / 2:
            self.size = min(self.size * 2, _MOST)
        elif took > BREATH * 2:
            self.size = max(self.size // 2, 1)
        await self.rest()

    async def walk(self, steps: Generator[None, None, T]) -> T:
        """Go through a work that yields between short steps; returns what it returns."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            await self.breathe()

    async def rest(self) -> None:
        """Let others run."""
        await anyio.lowlevel.checkpoint()
        self._began = time.perf_counter()

    def begin(self) -> None:
        """Others have run a moment ago."""
        self._began = time.perf_counter()


def run(steps: Generator[None, None, T]) -> T:
    """The same where nobody waits: go through at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
