"""The newest traces, without a look at all that are kept: the first thing that the page shows.

The segments that arrived last began last, most of the time. So the newest traces are looked for among the newest
segments. Whether a trace of which nothing arrived lately began later than these is one short look at the start of all
other segments.
"""

from __future__ import annotations

from typing import NamedTuple

from ..store.database import Row
from ..store.store import Store

# Segments to look through for each trace that is wanted.
_SEGMENTS = 20
# Segments up to which the look at all is short.
_FEW = 250_000
_ROWS = """
SELECT * FROM (
    SELECT trace, min({rank}), start, took, sum(spans), sum(errors) FROM segments
    WHERE trace IN (SELECT trace FROM segments WHERE id > :floor) AND id <= :last GROUP BY trace
) ORDER BY start DESC, trace DESC LIMIT :limit
"""


class Newest(NamedTuple):
    """How many traces are kept, and the newest of them: trace, start, duration, spans, errors."""

    total: int
    rows: list[Row]


def newest(store: Store, rank: str, limit: int) -> Newest | None:
    """The newest traces; None where a longer look is needed.

    :param rank: the expression by which the root of a trace comes first
    """
    low, last = store.numbers("segments")
    if last - low > _FEW:
        return None
    floor = max(last - limit * _SEGMENTS, low)
    found = store.read(_ROWS.format(rank=rank), {"floor": floor, "last": last, "limit": limit})
    ((latest,),) = store.read("SELECT max(start) FROM segments WHERE id <= ?", (floor,))
    if latest is not None and (len(found) < limit or found[-1][2] <= latest):
        return None
    ((total,),) = store.read("SELECT count(DISTINCT trace) FROM segments WHERE id <= ?", (last,))
    return Newest(total, [(trace, *others) for trace, _, *others in found])
