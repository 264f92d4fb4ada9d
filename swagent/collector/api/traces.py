"""Lists of traces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from ..pace import Pace
from ..store.store import Store
from .cursor import Page, decode
from .newest import newest

Answer = dict[str, Any]

# `{piece}` is the range of traces that are looked at, and the newest segment
_FILTERS = {
    "service": "trace IN (SELECT trace FROM segments WHERE service = :service AND {piece})",
    "q": "trace IN (SELECT trace FROM segments CROSS JOIN bodies USING (id) WHERE contains(body, :q) AND {piece})",
}
_BOUNDS = {
    "min_ms": "duration >= :min_ms",
    "max_ms": "duration <= :max_ms",
    "from": "start >= :from",
    "to": "start <= :to",
    "errors": "errors > 0",
}
# A trace begins where its root does, and takes as long as its root: SQLite takes start and took from the row whose
# rank is the least. A segment that was caused by another ranks behind those that were not.
_RANK = "iif(is_root, start, 4611686018427387904 + start / 2)"
# of a trace that is looked at for an endpoint, the longest call of that counts
_CALLED = """
JOIN (
    SELECT s.trace, c.service, max(c.duration) AS duration FROM segments s CROSS JOIN calls c ON c.owner = s.id
    WHERE c.kind = 'entry' AND c.endpoint = :endpoint AND {service} AND {piece} GROUP BY s.trace
) AS called USING (trace)
"""
# those that follow come first, so that one row at least tells the total
_LIST = """
WITH roots AS (
    SELECT
        trace, min({rank}), start, took AS duration, '' AS service, sum(spans) AS spans, sum(errors) AS errors
    FROM segments WHERE {inner} GROUP BY trace
), sums AS (SELECT {columns} FROM roots {called}),
matching AS (SELECT *, count(*) OVER () AS total FROM sums WHERE {outer})
SELECT trace, start, duration, spans, errors, total, {follows} AS follows, service FROM matching
ORDER BY follows DESC, {key} DESC, trace DESC LIMIT :limit
"""
_HEADS = "SELECT trace, service, endpoint FROM segments WHERE trace IN ({}) ORDER BY is_root DESC, start, id"
_LOGGED = "SELECT DISTINCT trace FROM logs WHERE trace IN ({})"


async def _ranges(store: Store) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Ranges of traces, each whole: the condition for one, and its values. What comes meanwhile is in none."""
    pace, (_, last) = Pace(), store.numbers("segments")
    low: str | None = ""
    while low is not None:
        high = _edge(store, low, pace.size)
        condition = "id <= :last AND trace >= :low" + ("" if high is None else " AND trace < :high")
        yield condition, {"low": low, "high": high, "last": last}
        low = high
        await pace.step()


def _edge(store: Store, low: str, size: int) -> str | None:
    """The first trace behind so many segments; None when there is none."""
    found = store.read("SELECT trace FROM segments WHERE trace >= ? ORDER BY trace LIMIT 1 OFFSET ?", (low, size))
    if found and found[0][0] == low:  # one trace with more segments than that
        found = store.read("SELECT min(trace) FROM segments WHERE trace > ?", (low,))
    return found[0][0] if found else None


async def traces(store: Store, filters: Mapping[str, Any], sort: str, limit: int, cursor: str) -> Answer:
    """A page of the traces that match, newest or slowest first. A trace takes as long as its root; where an endpoint is
    looked for, as long as the longest call of that.

    :param filters: of `service`, `endpoint`, `q`, `min_ms`, `max_ms`, `from`, `to`, `errors` those that apply
    :param cursor: the `next` of the page before; empty: the first page
    :raises ValueError: when the cursor is none
    """
    key, column = ("duration", 2) if sort == "slowest" else ("start", 1)
    after = decode(cursor, str)
    values = {**filters, "limit": limit + 1}
    if "q" in filters:
        values["q"] = filters["q"].lower().encode()
    if after is not None:
        values |= {"number": after[0], "trace": after[1]}
    inner = [_FILTERS[each] for each in _FILTERS if each in filters]
    called = _CALLED if "endpoint" in filters else ""
    service = "c.service = :service" if "service" in filters else "true"
    outer = [_BOUNDS[each] for each in _BOUNDS if each in filters]
    version, total, page = store.version, 0, Page(limit, column)
    if not (filters or cursor) and sort == "newest":
        short = newest(store, _RANK, limit + 1)
        if short is not None:
            page.add((*row, short.total, True, "") for row in short.rows)
            return _answer(store, filters, version, short.total, page)
    async for condition, piece in _ranges(store):
        query = _LIST.format(
            rank=_RANK,
            columns="trace, start, called.duration, called.service, spans, errors" if called else "*",
            called=called.format(service=service, piece=condition),
            inner=" AND ".join([condition, *(each.format(piece=condition) for each in inner)]),
            outer=" AND ".join(["true", *outer]),
            follows="true" if after is None else f"({key}, trace) < (:number, :trace)",
            key=key,
        )
        found = store.read(query, {**values, **piece})
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
