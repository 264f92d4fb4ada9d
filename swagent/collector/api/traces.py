"""Lists of traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..store.store import Store
from .cursor import Page, decode
from .matching import HAS_FAILED, RANK, Search
from .mostly import MostlyIndex
from .newest import NewestTraces
from .trace_failures import trace_failure

Answer = dict[str, Any]
_FIRST_SECONDS = 0.03
"""Processor time for where the time of the first page's traces went: its first rows are to be seen soon."""
_MOST_FAILED = 20  # segments of a trace that are looked at for what failed in it

# those that follow come first, so that at least one row has the total
_LIST = """{matching}
SELECT trace, start, duration, spans, errors, failed, count(*) OVER () AS total, {follows} AS follows, service
FROM matching
ORDER BY follows DESC, {key} DESC, trace DESC LIMIT :limit
"""
_HEADS = "SELECT trace, service, endpoint FROM segments WHERE trace IN ({}) ORDER BY is_root DESC, start, id"
_FAILED = "SELECT id, trace FROM segments WHERE trace IN ({}) AND errors > 0 AND spans <= 2000 ORDER BY id"
_LOGGED = "SELECT DISTINCT trace FROM logs WHERE trace IN ({})"


def traces(
    store: Store,
    newest: NewestTraces,
    known: MostlyIndex,
    filters: Mapping[str, Any],
    sort: str,
    limit: int,
    cursor: str,
) -> Answer:
    """A page of the traces that match, newest or slowest first. A trace takes as long as its root; where an endpoint is
    looked for, as long as the longest call of that.

    :param newest: of this store
    :param known: where the time of its traces went
    :param filters: of `service`, `endpoint`, `q`, `min_ms`, `max_ms`, `from`, `to`, `errors` those that apply
    :param cursor: the `next` of the page before; empty: the first page
    :raises ValueError: when the cursor is none, or the query cannot be read
    """
    key, column = ("duration", 2) if sort == "slowest" else ("start", 1)
    after = decode(cursor, str)
    values: dict[str, Any] = {"limit": limit + 1}
    if after is not None:
        values |= {"number": after[0], "trace": after[1]}
    follows = "true" if after is None else f"({key}, trace) < (:number, :trace)"
    search = Search(store, filters)
    version, total, page = store.version, 0, Page(limit, column)
    if not (filters or cursor) and sort == "newest":
        short = newest.find(RANK, HAS_FAILED, limit + 1)
        if short is not None:
            page.add((*row, short.total, True, "") for row in short.rows)
            return _answer(store, known, filters, version, short.total, page, _FIRST_SECONDS)
    for piece in search.ranges():
        query = _LIST.format(matching=piece.matching, follows=follows, key=key)
        found = store.read(query, {**values, **piece.values})
        total += found[0][6] if found else 0
        page.add(row for row in found if row[7])
    return _answer(store, known, filters, version, total, page)


def _answer(
    store: Store,
    known: MostlyIndex,
    filters: Mapping[str, Any],
    version: int,
    total: int,
    page: Page,
    *seconds: float,
) -> Answer:
    heads = _heads(store, [row[0] for row in page.rows])
    failed = _failures(store, [row[0] for row in page.rows if row[4]])
    most = known.of((row[0] for row in page.rows), *seconds)
    return {
        "version": version,
        "total": total,
        "total_is_exact": True,
        "next": page.following,
        "is_complete": len(most) >= len(heads),
        "traces": [
            {
                "trace_id": trace,
                "start": start,
                "duration": duration,
                "spans": spans,
                "errors": errors,
                "failed": bool(has_failed),
                "failure": failed.get(trace),
                "mostly": most.get(trace),
                **heads[trace],
                **({"endpoint": filters["endpoint"], "service": service} if "endpoint" in filters else {}),
            }
            for trace, start, duration, spans, errors, has_failed, _, _, service in page.rows
            if trace in heads  # else it has fallen out meanwhile
        ],
    }


def _failures(store: Store, ids: list[str]) -> dict[str, Answer | None]:
    """What failed in each of some traces."""
    numbers: dict[str, list[int]] = {}
    for number, trace in store.read(_FAILED.format(", ".join("?" * len(ids))), ids):
        numbers.setdefault(trace, []).append(number)
    found: dict[str, Answer | None] = {}
    for trace, each in numbers.items():
        segments = (store.segment(number) for number in each[:_MOST_FAILED])
        found[trace] = trace_failure(segment for segment in segments if segment is not None)
    return found


def _heads(store: Store, ids: list[str]) -> dict[str, Answer]:
    marks = ", ".join("?" * len(ids))
    logged = {trace for (trace,) in store.read(_LOGGED.format(marks), ids)}
    heads: dict[str, Answer] = {}
    for trace, service, endpoint in store.read(_HEADS.format(marks), ids):
        head = heads.setdefault(
            trace, {"endpoint": endpoint, "service": service, "services": [], "has_logs": trace in logged}
        )
        if service not in head["services"]:
            head["services"].append(service)
    return heads
