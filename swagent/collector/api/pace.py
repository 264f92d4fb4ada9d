"""Reads much of the store without holding the intake up.

Queries run in the event loop that takes reports in. A worker thread would not help: a database in memory has one
connection, so the intake would wait for the reader. Therefore long queries are done piece by piece, and the loop runs
other tasks between the pieces. An answer contains what was kept when it began. What came since is in the next one.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel

from ..store.store import Store

BREATH = 0.005
"""Seconds that a piece takes, about."""
_FIRST, _MOST = 250, 16_000


class Pace:
    """One query's way through the store.

    :ivar size: how many rows to look at next
    """

    def __init__(self) -> None:
        self.size = _FIRST
        self._began = time.perf_counter()

    async def breathe(self) -> None:
        """Between two short steps: let others run, when it is time."""
        if time.perf_counter() - self._began >= BREATH:
            await self._rest()

    async def step(self) -> None:
        """After a piece of `size` rows: let others run, and take the measure for the next one."""
        took = time.perf_counter() - self._began
        if took < BREATH / 2:
            self.size = min(self.size * 2, _MOST)
        elif took > BREATH * 2:
            self.size = max(self.size // 2, 1)
        await self._rest()

    async def _rest(self) -> None:
        await anyio.lowlevel.checkpoint()
        self._began = time.perf_counter()


async def pieces(store: Store, table: str, pace: Pace) -> AsyncIterator[dict[str, Any]]:
    """Ranges of a table's rows, the oldest first: for a query that takes those with a number above `:low`, up to
    `:high`, and looks at none above `:last`, which is the last of all.

    :raises StoreError: when the store cannot be read or written
    """
    low, last = store.numbers(table)
    while low < last:
        high = min(low + pace.size, last)
        yield {"low": low, "high": high, "last": last}
        low = high
        await pace.step()
