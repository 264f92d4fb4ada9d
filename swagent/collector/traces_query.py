"""Lists of traces, and one trace whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .components import component_name
from .logs_query import log_answer
from .rows import LOG_COLUMNS
from .store import Store
from .tree import Node, depth_first, join

Answer = dict[str, Any]
MAX_SPANS = 10_000
"""Spans of one trace in an answer; more are left out, and said to be."""
MAX_LOGS = 1_000
"""Its log lines in an answer; /api/logs has the others."""

_FILTERS = {
    "service": "trace IN (SELECT trace FROM segments WHERE service = ?)",
    "endpoint": (
        "trace IN (SELECT s.trace FROM calls c JOIN segments s ON s.id = c.owner"
        " WHERE kind = 'entry' AND c.endpoint = ?)"
    ),
    "q": "trace IN (SELECT trace FROM segments JOIN bodies USING (id) WHERE contains(body, ?))",
}
_BOUNDS = {"min_ms": "duration >= ?", "max_ms": "duration <= ?", "from": "start >= ?", "to": "start <= ?"}
_LIST = """
WITH sums AS (
    SELECT trace, min(start) AS start, max(finish) - min(start) AS duration, sum(spans) AS spans, sum(errors) AS errors
    FROM segments {where} GROUP BY trace
), matching AS (SELECT *, count(*) OVER () AS total FROM sums {having})
SELECT trace, start, duration, spans, errors, total FROM matching {after} ORDER BY {key} DESC, trace DESC LIMIT ?
"""
_HEADS = "SELECT trace, service, endpoint FROM segments WHERE trace IN ({}) ORDER BY is_root DESC, start, id"
_LOGGED = "SELECT DISTINCT trace FROM logs WHERE trace IN ({})"


def traces(store: Store, filters: Mapping[str, Any], sort: str, limit: int, cursor: str) -> Answer:
    """A page of the traces that match, newest or slowest first.

    :param filters: of `service`, `endpoint`, `q`, `min_ms`, `max_ms`, `from`, `to`, `errors` those that apply
    :param cursor: the `next` of the page before; empty: the first page
    :raises ValueError: when the cursor is none
    """
    key = "duration" if sort == "slowest" else "start"
    where, having, after, values = _conditions(filters, key, cursor)
    query = _LIST.format(where=where, having=having, after=after, key=key)
    found = store.read(query, (*values, limit + 1))
    shown = found[:limit]
    heads = _heads(store, [row[0] for row in shown])
    return {
        "version": store.version,
        "total": found[0][5] if found else 0,
        "total_is_exact": True,
        "next": json.dumps([shown[-1][2 if key == "duration" else 1], shown[-1][0]]) if len(found) > limit else None,
        "traces": [
            {"trace_id": trace, "start": start, "duration": duration, "spans": spans, "errors": errors, **heads[trace]}
            for trace, start, duration, spans, errors, _ in shown
        ],
    }


def _conditions(filters: Mapping[str, Any], key: str, cursor: str) -> tuple[str, str, str, list[Any]]:
    inner = {_FILTERS[name]: filters[name] for name in _FILTERS if name in filters}
    if "q" in filters:
        inner[_FILTERS["q"]] = filters["q"].lower().encode()
    outer = {_BOUNDS[name]: filters[name] for name in _BOUNDS if name in filters}
    conditions = [*outer, *(["errors > 0"] if filters.get("errors") else [])]
    values = [*inner.values(), *outer.values()]
    after = ""
    if cursor:
        after = f"WHERE ({key}, trace) < (?, ?)"
        values += _cursor(cursor)
    return _joined(list(inner)), _joined(conditions), after, values


def _cursor(text: str) -> list[Any]:
    try:
        number, trace = json.loads(text)
        return [int(number), str(trace)]
    except (ValueError, TypeError) as error:
        raise ValueError("cursor: take the `next` of the page before") from error


def _joined(conditions: list[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


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


def trace(store: Store, trace_id: str) -> Answer | None:
    """One trace whole, parents before their children; None when no segment of it is kept."""
    segments = store.trace(trace_id)
    if not segments:
        return None
    placed = list(depth_first(join(segments)))
    nodes = [node for node, _ in placed]
    shown = nodes[:MAX_SPANS]
    start = min((node.span.start_time for node in nodes), default=0)
    names = _names(shown)
    query = f"SELECT id, level, {LOG_COLUMNS} FROM logs WHERE trace = ? ORDER BY time, id LIMIT {MAX_LOGS}"  # noqa: S608
    return {
        "version": store.version,
        "trace_id": trace_id,
        "start": start,
        "duration": max((node.span.end_time for node in nodes), default=0) - start,
        "services": list(dict.fromkeys(node.segment.service for node in nodes)),
        "left_out": len(nodes) - len(shown),
        "spans": [_span(node, names, depth) for node, depth in placed[:MAX_SPANS]],
        "logs": [log_answer(row) for row in store.read(query, (trace_id,))],
    }


def _names(nodes: list[Node]) -> dict[int, str]:
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
