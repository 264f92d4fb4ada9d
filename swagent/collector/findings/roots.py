"""The requests that began traces, by their operations, and which of them are worth a look."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from operator import itemgetter
from typing import Any

from ..api.pieces import pieces
from ..api.sums import quantile
from ..store.store import Store
from .culprit import SLOW_FACTOR, SLOW_MS

_ROOTS = """
SELECT service, endpoint, took, start, trace, errors, failed FROM segments
WHERE id > :low AND id <= :high AND is_root AND {bounds}
"""
_BOUNDS = {"from": "start >= :from", "to": "start <= :to"}
SLOWEST, TYPICAL, FAILED = 4, 3, 2
"""Traces of an operation that are looked at: the slowest, those near the median, and the newest with an error."""
MOST_TRACES = 60
"""Traces that are looked at in all."""
_OPERATIONS = 12
EPISODES = 3
"""Times at which requests were slow that are no chance."""
_EPISODES_APART, _LONG_EPISODE = 50, 2000  # milliseconds
_LOOKED_AT = 5  # requests that began next
_WARM_UP = 2  # requests of an operation
_SPREADS = 4  # times the distance of the upper quartile to the median: what is longer is not the usual spread
Row = tuple[int, int, str, int, int]
_TOOK, _START, _ERRORS = itemgetter(0), itemgetter(1), itemgetter(3)
Part = str
"""`slow`, `usual` or `failed`."""


@dataclass(eq=False)
class Root:
    """The requests of one operation that began traces.

    :ivar starts: when processes started
    :ivar rows: of each the milliseconds that it took, its start, its trace, its spans with errors, and whether it
        failed
    """

    service: str
    operation: str
    rows: list[Row] = field(default_factory=list[Row])
    starts: Sequence[int] = ()
    p25: int = 0
    p50: int = 0
    p75: int = 0

    @cached_property
    def ms(self) -> int:
        """Milliseconds of all."""
        return sum(map(_TOOK, self.rows))

    @cached_property
    def slow(self) -> list[Row]:
        """Those that took much longer than the median, without the first ones."""
        limit = self.p50 + max(SLOW_MS, (SLOW_FACTOR - 1) * self.p50, _SPREADS * (self.p75 - self.p50))
        warming = {id(row) for row in self._warming_up()}
        return [row for row in self.rows if row[0] >= limit and id(row) not in warming]

    @cached_property
    def is_recurring(self) -> bool:
        """Whether requests were slow several times, or for long. A stall of the machine hits all that are under way: it
        is one time, unless others were quick meanwhile."""
        episodes, apart, begin, until = 0, 0, 0, 0
        quick = sorted((start, start + took) for took, start, *_ in self.parts["usual"])
        for took, start, *_ in sorted(self.slow, key=lambda row: row[1]):
            at = bisect_left(quick, (start, 0))
            apart += any(end <= start + took for _, end in quick[at : at + _LOOKED_AT])
            if start > until + _EPISODES_APART:
                episodes, begin = episodes + 1, start
            until = max(until, start + took)
            if until - begin - took >= _LONG_EPISODE:
                return True
        return max(episodes, apart) >= EPISODES

    def _warming_up(self) -> Iterator[Row]:
        """The first requests of all, and after each start: imports and connections make them slow once."""
        ordered = sorted(self.rows, key=_START)
        for moment in (0, *self.starts):
            first = bisect_left(ordered, moment, key=_START)
            yield from ordered[first : first + _WARM_UP]

    @cached_property
    def excess(self) -> int:
        """Milliseconds that the slow ones took longer than the median."""
        return sum(row[0] - self.p50 for row in self.slow)

    @cached_property
    def parts(self) -> dict[Part, list[Row]]:
        """Each request in one of three parts: it failed, it was slow, or neither."""
        slow = {row[2] for row in self.slow}
        found: dict[Part, list[Row]] = {"failed": [], "slow": [], "usual": []}
        for row in self.rows:
            found["failed" if row[3] else "slow" if row[2] in slow else "usual"].append(row)
        return found

    def samples(self) -> Iterator[tuple[Part, str]]:
        """The traces of each part to look at: the slowest, those near the median, the newest that failed."""
        usual = sorted(self.parts["usual"])
        middle = max((len(usual) - TYPICAL) // 2, 0)
        failed = nlargest(FAILED, self.parts["failed"], key=lambda row: row[1])
        yield from (("slow", row[2]) for row in nlargest(SLOWEST, self.parts["slow"]))
        yield from (("usual", row[2]) for row in usual[middle : middle + TYPICAL])
        yield from (("failed", row[2]) for row in failed)


def roots(store: Store, bounds: Mapping[str, int], starts: Sequence[int] = ()) -> list[Root]:
    """The operations that began traces, the one with most time first.

    :param starts: when processes started
    :param bounds: `from` and `to`, as far as a time was asked for
    :raises StoreError: when the store cannot be read
    """
    rows: dict[Any, list[Any]] = {}
    query = _ROOTS.format(bounds=" AND ".join(["true", *(_BOUNDS[name] for name in _BOUNDS if name in bounds)]))
    for piece in pieces(store, "segments"):
        values: dict[str, Any] = {**piece, **bounds}
        for row in store.read(query, values):
            rows.setdefault(row[:2], []).append(row[2:])
    found = [Root(service, operation, its) for (service, operation), its in rows.items()]
    for root in found:
        ordered = sorted(map(_TOOK, root.rows))
        root.p25, root.p50, root.p75 = (quantile(ordered, part) or 0 for part in (25, 50, 75))
        root.starts = starts
    return sorted(found, key=lambda root: -root.ms)


def chosen(found: Iterable[Root]) -> Iterator[tuple[Root, list[tuple[Part, str]]]]:
    """The traces to look at, by their operations: of those whose slow requests, and of those whose requests took most
    time."""
    known = list(found)
    by_excess = nlargest(_OPERATIONS // 2, (root for root in known if root.slow), key=lambda root: root.excess)
    failing = nlargest(_OPERATIONS // 4, known, key=lambda root: sum(map(bool, map(_ERRORS, root.rows))))
    left = MOST_TRACES
    for root in dict.fromkeys((*by_excess, *known[:_OPERATIONS], *failing)):
        traces = list(root.samples())[:left]
        left -= len(traces)
        yield root, traces
