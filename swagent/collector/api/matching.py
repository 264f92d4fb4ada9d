"""The traces that match a search, a range of them at a time. The list, the heatmap and the differences begin here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..store.store import Store
from .conditions import conditions
from .pieces import PieceSize
from .query import parse

FILTERS: Mapping[str, tuple[str, ...]] = {
    "texts": ("service", "endpoint", "q"),
    "numbers": ("min_ms", "max_ms", "from", "to"),
    "flags": ("errors",),
}
"""The parameters of a search, as `Parameters.present` takes them."""
_BOUNDS = {
    "min_ms": "duration >= :min_ms",
    "max_ms": "duration <= :max_ms",
    "from": "start >= :from",
    "to": "start <= :to",
    "errors": "failed",
}
RANK = "iif(is_root, start, 4611686018427387904 + start / 2)"
"""A trace begins where its root does, and takes as long as its root: SQLite takes start and took from the row whose
rank is the least. A segment that was caused by another ranks behind those that were not."""
HAS_FAILED = "(total(failed = 1) > 0 OR (total(failed) > 0 AND total(is_root) = 0))"
"""A trace failed where the request did that began it, or work that no request waits for: `store/failed_segments.py`."""
# of a trace that is looked at for an endpoint, the longest call of that counts
_CALLED = """
JOIN (
    SELECT s.trace, c.service, max(c.duration) AS duration FROM segments s CROSS JOIN calls c ON c.owner = s.id
    WHERE c.kind = 'entry' AND c.endpoint = :endpoint AND {service} AND {piece} GROUP BY s.trace
) AS called USING (trace)
"""
# SQLite allows no other min or max beside that of the rank
_MATCHING = """
WITH roots AS (
    SELECT
        trace, min({rank}), start, took AS duration, '' AS service, sum(spans) AS spans, sum(errors) AS errors,
        {failed} AS failed{extra}
    FROM segments WHERE {piece} GROUP BY trace HAVING {having}
), sums AS (SELECT {columns} FROM roots {called}),
matching AS (SELECT * FROM sums WHERE {where})
"""


class Range(NamedTuple):
    """A range of traces, each whole.

    :ivar matching: the beginning of a query; those that match are its table `matching`, with the columns `trace`,
        `start`, `duration`, `service`, `spans`, `errors`, `failed`, `extra`
    :ivar values: the parameters of the query
    """

    matching: str
    values: dict[str, Any]


class Search:
    """A search for traces.

    :param filters: of the parameters in `FILTERS` those that apply
    :param extra: one more column, by what it sums of the segments of a trace
    :raises ValueError: when the query in them cannot be read
    """

    def __init__(self, store: Store, filters: Mapping[str, Any], extra: str = "") -> None:
        self._store = store
        found = conditions(parse(filters.get("q", "")), store.seen())
        self._values = {**{name: value for name, value in filters.items() if name != "q"}, **found.values}
        self._having = ["true", *found.having]
        if "service" in filters:
            self._having.append("total(service = :service) > 0")
        self._where = ["true", *found.where, *(_BOUNDS[each] for each in _BOUNDS if each in filters)]
        self._service = "c.service = :service" if "service" in filters else "true"
        self._by_endpoint = "endpoint" in filters
        self._extra = extra

    def ranges(self) -> Iterator[Range]:
        """Ranges that together are all that is kept. A segment that comes meanwhile is in none."""
        store = self._store
        size, (_, last) = PieceSize(), store.numbers("segments")
        low: str | None = ""
        while low is not None:
            size.begin()
            high = _edge(store, low, size.rows)
            piece = "id <= :last AND trace >= :low" + ("" if high is None else " AND trace < :high")
            yield Range(self._matching(piece), {**self._values, "low": low, "high": high, "last": last})
            low = high
            size.end()

    def _matching(self, piece: str) -> str:
        extra = f", {self._extra} AS extra" if self._extra else ""
        called = _CALLED.format(service=self._service, piece=piece) if self._by_endpoint else ""
        columns = "trace, start, called.duration, called.service, spans, errors, failed" + (", extra" if extra else "")
        return _MATCHING.format(
            rank=RANK,
            failed=HAS_FAILED,
            extra=extra,
            piece=piece,
            having=" AND ".join(self._having),
            columns=columns if called else "*",
            called=called,
            where=" AND ".join(self._where),
        )


def _edge(store: Store, low: str, size: int) -> str | None:
    """The first trace behind so many segments; None when there is none."""
    found = store.read("SELECT trace FROM segments WHERE trace >= ? ORDER BY trace LIMIT 1 OFFSET ?", (low, size))
    if found and found[0][0] == low:  # one trace with more segments than that
        found = store.read("SELECT min(trace) FROM segments WHERE trace > ?", (low,))
    return found[0][0] if found else None
