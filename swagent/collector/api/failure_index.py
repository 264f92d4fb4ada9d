"""All failures that are kept: each segment is read once, when somebody looks for the first time after it came.

So the intake has nothing to do for it, and an answer reads only what is new since the one before.
"""

from __future__ import annotations

from bisect import bisect_right

import anyio

from ..pace import Pace
from ..store.store import Store
from .failures import Failure, Group, failures
from .pace import pieces

MOST = 50_000
"""Failures that are remembered, the newest."""
_FAILED = "SELECT id FROM segments WHERE id > :low AND id <= :high AND errors > 0"


class FailureIndex:
    """The failures of the segments that are kept, in the order in which they came.

    :ivar dropped: how many there were beside them, because there are too many
    """

    def __init__(self, store: Store) -> None:
        self.dropped = 0
        self._store = store
        self._turn = anyio.Lock()
        self._found: list[Failure] = []
        self._groups: dict[Group, Group] = {}
        self._last = 0

    async def read(self, pace: Pace) -> list[Failure]:
        """Look through what has come since the last time; returns all, the oldest first.

        :raises StoreError: when the store cannot be read
        """
        async with self._turn:
            pace.begin()
            async for piece in pieces(self._store, "segments", pace, self._last):
                for (number,) in self._store.read(_FAILED, piece):
                    await self._read_segment(number, pace)
                self._last = piece["high"]
            self._forget(self._store.numbers("segments")[0])
            return self._found.copy()

    async def _read_segment(self, number: int, pace: Pace) -> None:
        segment = await pace.walk(self._store.decoding(number))
        if segment is not None:  # else it has fallen out meanwhile
            for each in await pace.walk(failures(number, segment)):
                self._found.append(each._replace(group=self._groups.setdefault(each.group, each.group)))
        if len(self._found) > 2 * MOST:
            self._forget(0)
        await pace.breathe()

    def _forget(self, lowest: int) -> None:
        """Drop what has fallen out of the store, and the oldest of too many."""
        gone = bisect_right(self._found, lowest, key=lambda each: each.number)
        many = max(len(self._found) - MOST, gone)
        if many:
            self.dropped += many - gone
            del self._found[:many]
        if len(self._groups) > MOST:
            self._groups = {each.group: each.group for each in self._found}
