"""Lists of traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..store.store import Store
from .cursor import Page, decode
from .matching import RANK, Search
from .newest import NewestTraces

Answer = dict[str, Any]

# those that follow come first, so that at least one row has the total
_LIST = """{matching}
SELECT trace, start, duration, spans, errors, count(*) OVER () AS total, {follows} AS follows, service FROM matching
ORDER BY follows DESC, {key} DESC, trace DESC LIMIT :limit
"""
_HEADS = "SELECT trace, service, endpoint FROM segments WHERE trace IN ({}) ORDER BY is_root DESC, start, id"
_LOGGED = "SELECT DISTINCT trace FROM logs WHERE trace IN ({})"


def traces(
    store: Store, newest: NewestTraces, filters: Mapping[str, Any], sort: str, limit: int, cursor: str
) -> Answer:
    """A page of the traces that match, newest or slowest first. A trace takes as long as its root; where an endpoint is
    looked for, as long as the longest call of that.

    :param newest: of this store
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
        short = newest.find(RANK, limit + 1)
        if short is not None:
            page.add((*row, short.total, True, "") for row in short.rows)
            return _answer(store, filters, version, short.total, page)
    for piece in search.ranges():
        query = _LIST.format(matching=piece.matching, follows=follows, key=key)
        found = store.read(query, {**values, **piece.values})
        total += found[0][5] if found else 0
        page.add(row for row in found if row[6])
    return _answer(store, filters, version, total, page)


def _answer(store: Store, filters: Mapping[str, Any], version: int, total: int, page: Page) -> Answer:
    heads = _heads(store, [row[0] for row in page.rows])
    return {
        "version": version,
        "total": total,
        "total_is_exact": True,
        "next": page.following,
        "traces": [
            {
                "trace_id": trace,
                "start": start,
                "duration": duration,
                "spans": spans,
                "errors": errors,
                **heads[trace],
                **({"endpoint": filters["endpoint"], "service": service} if "endpoint" in filters else {}),
            }
            for trace, start, duration, spans, errors, _, _, service in page.rows
            if trace in heads  # else it has fallen out meanwhile
        ],
    }


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
