"""The newest traces, without a look at all that are kept: the first thing that the page shows.

The segments that arrived last began last, most of the time. So the newest traces are looked for among the newest
segments. Whether a trace of which nothing arrived lately began later than these is known from the latest start of all
other segments, which is kept from one look to the next.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from ..store.database import Row
from ..store.store import Store
from .memo import rest_after

# Segments to look through for each trace that is wanted: first few, then more.
_SEGMENTS = (4, 20)
_ROWS = """
SELECT * FROM (
    SELECT trace, min({rank}), start, took, sum(spans), sum(errors), {failed} FROM segments
    WHERE trace IN (SELECT trace FROM segments WHERE id > :floor) AND id <= :last GROUP BY trace
) ORDER BY start DESC, trace DESC LIMIT :limit
"""
_LATEST = "SELECT max(start) FROM segments WHERE id > ? AND id <= ?"
_TOTAL = "SELECT count(DISTINCT trace) FROM segments WHERE id <= ?"
# both at once, by the index that has all of it: the first answer waits for this
_BOTH = """
SELECT count(DISTINCT trace), max(CASE WHEN id <= :floor THEN start END) FROM segments INDEXED BY segments_by_trace
WHERE id <= :last
"""


class Newest(NamedTuple):
    """How many traces are kept, and the newest of them: trace, start, duration, spans, errors, whether it failed."""

    total: int
    rows: list[Row]


class NewestTraces:
    """Finds the newest traces of a store. One call at a time, in any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # for each of `_SEGMENTS`: a number, and the latest start of the segments up to it
        self._latest: dict[int, tuple[int, int]] = {}
        self._total = 0
        self._count_again = 0.0

    def find(self, rank: str, failed: str, limit: int) -> Newest | None:
        """The newest traces; None where a longer look is needed. Where many are kept, their number may be that of some
        seconds ago.

        :param rank: the expression by which the root of a trace comes first
        :param failed: the one that is true of a trace that failed
        """
        query = _ROWS.format(rank=rank, failed=failed)
        low, last = self._store.numbers("segments")
        for segments in _SEGMENTS:
            floor = max(last - limit * segments, low)
            found = self._store.read(query, {"floor": floor, "last": last, "limit": limit})
            if floor > low and not self._latest:
                self._look_at_all(segments, floor, last)
            if floor == low or (len(found) == limit and self._is_later(found[-1][2], floor, segments)):
                return Newest(self._count(last), [(trace, *others) for trace, _, *others in found])
        return None

    def _look_at_all(self, segments: int, floor: int, last: int) -> None:
        """Find the number of traces, and the latest start of the segments up to `floor`."""
        began = time.monotonic()
        ((self._total, latest),) = self._store.read(_BOTH, {"floor": floor, "last": last})
        self._latest[segments] = floor, latest or 0
        self._count_again = rest_after(began, time.monotonic())

    def _is_later(self, start: int, floor: int, segments: int) -> bool:
        """Whether it is later than the start of each segment up to that number."""
        known, latest = self._latest.get(segments, (0, 0))
        # what was seen before may have fallen out since
        for above in (known, 0):
            ((found,),) = self._store.read(_LATEST, (above, floor))
            latest = max(latest if above else 0, found or 0)
            self._latest[segments] = floor, latest
            if latest < start:
                return True
        return False

    def _count(self, last: int) -> int:
        began = time.monotonic()
        if began >= self._count_again:
            ((self._total,),) = self._store.read(_TOTAL, (last,))
            self._count_again = rest_after(began, time.monotonic())
        return self._total
