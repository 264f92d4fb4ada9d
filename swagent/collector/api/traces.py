"""Lists of traces, and one trace whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from ..store.rows import LOG_COLUMNS
from ..store.store import Store
from ..store.trace_records import Segment
from ..store.trace_translation import decode_segment
from .components import component_name
from .cursor import Page, decode
from .logs import log_answer
from .pace import Pace
from .tree import Node, depth_first, join

Answer = dict[str, Any]
MAX_SPANS = 10_000
"""Spans of one trace in an answer; more are left out, and said to be."""
MAX_LOGS = 1_000
"""Its log lines in an answer; /api/logs has the others."""

# `{piece}` is the range of traces that are looked at, and the newest segment
_FILTERS = {
    "service": "trace IN (SELECT trace FROM segments WHERE service = :service AND {piece})",
    "endpoint": (
        "trace IN (SELECT trace FROM segments s CROSS JOIN calls c ON c.owner = s.id"
        " WHERE c.kind = 'entry' AND c.endpoint = :endpoint AND {piece})"
    ),
    "q": "trace IN (SELECT trace FROM segments CROSS JOIN bodies USING (id) WHERE contains(body, :q) AND {piece})",
}
_BOUNDS = {
    "min_ms": "duration >= :min_ms",
    "max_ms": "duration <= :max_ms",
    "from": "start >= :from",
    "to": "start <= :to",
    "errors": "errors > 0",
}
# those that follow come first, so that one row at least tells the total
_LIST = """
WITH sums AS (
    SELECT
        trace, min(start) AS start, max(max(finish) - min(start), 0) AS duration, sum(spans) AS spans,
        sum(errors) AS errors
    FROM segments WHERE {inner} GROUP BY trace
), matching AS (SELECT *, count(*) OVER () AS total FROM sums WHERE {outer})
SELECT trace, start, duration, spans, errors, total, {follows} AS follows FROM matching
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
    """A page of the traces that match, newest or slowest first.

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
    outer = [_BOUNDS[each] for each in _BOUNDS if each in filters]
    version, total, page = store.version, 0, Page(limit, column)
    async for condition, piece in _ranges(store):
        query = _LIST.format(
            inner=" AND ".join([condition, *(each.format(piece=condition) for each in inner)]),
            outer=" AND ".join(["true", *outer]),
            follows="true" if after is None else f"({key}, trace) < (:number, :trace)",
            key=key,
        )
        found = store.read(query, {**values, **piece})
        total += found[0][5] if found else 0
        page.add(row for row in found if row[6])
    heads = _heads(store, [row[0] for row in page.rows])
    return {
        "version": version,
        "total": total,
        "total_is_exact": True,
        "next": page.following,
        "traces": [
            {"trace_id": trace, "start": start, "duration": duration, "spans": spans, "errors": errors, **heads[trace]}
            for trace, start, duration, spans, errors, *_ in page.rows
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


async def trace(store: Store, trace_id: str) -> Answer | None:
    """One trace whole, parents before their children; None when no segment of it is kept."""
    version, pace, segments = store.version, Pace(), list[Segment]()
    for body in store.bodies(trace_id):
        segments.append(decode_segment(body))
        await pace.breathe()
    if not segments:
        return None
    placed = list(depth_first(join(segments)))
    nodes = [node for node, _ in placed]
    shown = placed[:MAX_SPANS]
    start = min((node.span.start_time for node in nodes), default=0)
    names = _names(node for node, _ in shown)
    spans: list[Answer] = []
    for node, depth in shown:
        spans.append(_span(node, names, depth))
        await pace.breathe()
    query = f"SELECT id, level, {LOG_COLUMNS} FROM logs WHERE trace = ? ORDER BY time, id LIMIT {MAX_LOGS}"  # noqa: S608
    return {
        "version": version,
        "trace_id": trace_id,
        "start": start,
        "duration": max(max((node.span.end_time for node in nodes), default=0) - start, 0),
        "services": list(dict.fromkeys(node.segment.service for node in nodes)),
        "left_out": len(nodes) - len(shown),
        "spans": spans,
        "logs": [log_answer(row) for row in store.read(query, (trace_id,))],
    }


def _names(nodes: Iterable[Node]) -> dict[int, str]:
    """A name for each node: segment and span, and a number more where an agent gave one span number twice."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for node in nodes:
        plain = name = f"{node.segment.segment_id}:{node.span.span_id}"
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}:{number}"
        taken.add(name)
        names[id(node)] = name
    return names


def _span(node: Node, names: dict[int, str], depth: int) -> Answer:
    span = node.span
    return {
        "id": names[id(node)],
        "parent": None if node.parent is None else names[id(node.parent)],
        "depth": depth,
        "service": node.segment.service,
        "instance": node.segment.instance,
        "operation": span.operation,
        "kind": span.kind.lower(),
        "layer": span.layer,
        "component": component_name(span.component_id),
        "peer": span.peer,
        "start": span.start_time,
        "end": span.end_time,
        "error": span.is_error,
        "tags": span.tags,
        "logs": [{"time": log.time, "fields": log.data} for log in span.logs],
        "missing_parent": bool(node.missing),
    }
