"""One trace, whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cancelling import stop_if_cancelled
from ..store.rows import LOG_COLUMNS
from ..store.store import Store
from ..store.trace_records import Segment
from .clocks import extent
from .components import component_name
from .logs import log_answer
from .node import Node
from .references import References
from .tree import depth_first, join

Answer = dict[str, Any]
MAX_SPANS = 10_000
"""Spans of one trace in an answer; more are left out, and said to be."""
MAX_LOGS = 1_000
"""Its log lines in an answer; /api/logs has the others."""


def trace(store: Store, trace_id: str) -> Answer | None:
    """One trace whole, parents before their children; None when no segment of it is kept."""
    version = store.version
    segments = list(_segments(store, trace_id))
    if not segments:
        return None
    roots = join(segments)
    placed: list[tuple[Node, int]] = []
    services: dict[str, None] = {}
    last: Node | None = None
    for node, depth in depth_first(roots):
        placed.append((node, depth))
        services.setdefault(node.segment.service)
        if last is None or node.end > last.end:
            last = node
    whole = extent(roots, last)
    shown = placed[:MAX_SPANS]
    names = _names(shown)
    references = References(store, trace_id, names)
    references.read(segments)
    spans: list[Answer] = []
    for node, depth in shown:
        spans.append({**_span(node, names, depth), **references.of(node)})
    query = f"SELECT id, level, {LOG_COLUMNS} FROM logs WHERE trace = ? ORDER BY time, id LIMIT {MAX_LOGS}"  # noqa: S608
    return {
        "version": version,
        "trace_id": trace_id,
        **whole._asdict(),
        "services": list(services),
        "left_out": len(placed) - len(shown),
        "spans": spans,
        "logs": [log_answer(row) for row in store.read(query, (trace_id,))],
    }


def _segments(store: Store, trace_id: str) -> Iterator[Segment]:
    for number in store.segment_numbers(trace_id):
        stop_if_cancelled()
        segment = store.segment(number)
        if segment is not None:  # else it has fallen out meanwhile
            yield segment


def _names(placed: list[tuple[Node, int]]) -> dict[int, str]:
    """A name for each node: segment and span, and a number more where an agent gave one span number twice."""
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    for node, _ in placed:
        plain = name = f"{node.segment.segment_id}:{node.span.span_id}"
        while name in taken:
            taken[plain] += 1
            name = f"{plain}:{taken[plain]}"
        taken[name] = 1
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
        "start": node.start,
        "end": node.end,
        "shift": node.shift,
        "error": span.is_error,
        "tags": span.tags,
        "logs": [{"time": log.time + node.shift, "fields": log.data} for log in span.logs],
        "missing_parent": bool(node.missing),
    }
