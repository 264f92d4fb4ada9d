"""The endpoints before and after a moment, and whether they got worse."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from heapq import merge
from typing import Any

from ..store.database import Row
from ..store.store import Store
from .failed_calls import failed_of
from .pieces import pieces
from .sides import LEAST, Side, differences, worse

Answer = dict[str, Any]
MOST = 1000
"""Endpoints in an answer; more are left out, and said to be."""
_BOUNDS = {"from": "c.start >= :from", "to": "c.start <= :to", "service": "c.service = :service"}
# the queries that were sent while a request was answered, by the process that answered it
_QUERIES = """
SELECT c.service, c.endpoint, c.start >= :at, c.duration, {failed} = 1, (
    SELECT count(*) FROM calls q
    WHERE q.owner = c.owner AND q.kind = 'exit' AND q.layer = 1 AND q.start BETWEEN c.start AND c.start + c.duration
)
FROM calls c WHERE c.kind = 'entry' AND c.owner > :low AND c.owner <= :high AND {bounds}
"""
_MEDIAN = """
SELECT c.duration, c.owner, c.parent_segment IS NULL FROM calls c
WHERE c.kind = 'entry' AND c.owner > :low AND c.owner <= :high AND c.service = :service AND c.endpoint = :endpoint
    AND c.is_error = 0
"""


def compare(store: Store, at: int, filters: Mapping[str, Any]) -> Answer:
    """The endpoints with calls on either side of a moment; the one that got worse most comes first.

    :param at: milliseconds since the epoch; a call belongs to where it began
    :param filters: of `service`, `from`, `to` those that apply
    """
    version = store.version
    sides: defaultdict[tuple[str, str], tuple[Side, Side]] = defaultdict(lambda: (Side(), Side()))
    bounds = " AND ".join(["true", *(_BOUNDS[name] for name in _BOUNDS if name in filters)])
    query = _QUERIES.format(failed=failed_of("c"), bounds=bounds)
    for piece in pieces(store, "segments"):
        for service, endpoint, is_after, *call in store.read(query, {**piece, **filters, "at": at}):
            before, after = sides[service, endpoint]
            (after if is_after else before).add(*call)
    found: list[Answer] = []
    for (service, endpoint), (before, after) in sides.items():
        before.durations.sort()
        after.durations.sort()
        found.append({"service": service, "endpoint": endpoint, **_row(before, after)})
    found.sort(key=lambda each: (-each["worse"], -min(each["before"]["calls"], each["after"]["calls"])))
    return {
        "version": version,
        "at": at,
        "least": LEAST,
        "total": len(found),
        "left_out": max(len(found) - MOST, 0),
        "endpoints": found[:MOST],
    }


def _row(before: Side, after: Side) -> Answer:
    return {
        "before": before.answer(),
        "after": after.answer(),
        "differs": differences(before, after),
        "worse": round(worse(before, after), 4),
    }


def median(store: Store, service: str, endpoint: str, trace: str) -> Answer:
    """A trace in which an endpoint took as long as it does usually, failures left out; no trace when there is no other.

    :param trace: the one that is to be compared, which is not the answer
    """
    version = store.version
    own = set(store.segment_numbers(trace))
    roots: list[list[Row]] = []
    others: list[list[Row]] = []
    for piece in pieces(store, "segments"):
        found = store.read(_MEDIAN, {**piece, "service": service, "endpoint": endpoint})
        calls = sorted(each for each in found if each[1] not in own)
        roots.append([each for each in calls if each[2]])
        others.append([each for each in calls if not each[2]])
    parts = roots if any(roots) else others  # best a trace that begins with this endpoint
    count = sum(map(len, parts))
    for rank, (duration, owner, _) in enumerate(merge(*parts), 1):
        if 2 * rank >= count:
            kept = store.read("SELECT trace FROM segments WHERE id = ?", (owner,))
            if kept:  # else it has fallen out meanwhile
                return {"version": version, "trace_id": kept[0][0], "duration": duration, "calls": count}
    return {"version": version, "trace_id": None, "duration": None, "calls": count}
