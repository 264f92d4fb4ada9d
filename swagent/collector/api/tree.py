"""Joins the segments of a trace into trees of spans; pure.

A span hangs under its parent in the same segment, a segment's first span under the span that one of its
references names. Reports arrive in any order and not always in full, and agents may err: every span that was
received is in the result exactly once, whatever its parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swagent.w3c_ids import is_hexadecimal, span_id_of

from ..store.foreign_callers import caller_in
from ..store.trace_records import Segment
from .clocks import align
from .node import Key, Node


def join(segments: Iterable[Segment]) -> list[Node]:
    """The roots of a trace's trees, oldest first; those whose parent is missing among them."""
    nodes: list[Node] = []
    known: dict[Key, Node] = {}
    for segment in segments:
        for span in segment.spans:
            nodes.append(Node(segment, span))
            known.setdefault((segment.segment_id, span.span_id), nodes[-1])
    for node in nodes:
        _find_parent(node, known)
    if any(map(_is_sought, nodes)):
        _find_by_id(nodes)
    _cut_circles(nodes)
    roots: list[Node] = []
    for node in nodes:
        (roots if node.parent is None else node.parent.children).append(node)
    _place(roots)
    return roots


def _place(roots: list[Node]) -> None:
    """Correct the clocks from the roots down, and sort."""
    roots.sort(key=_order)
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        for child in node.children:
            align(child, node)
        node.children.sort(key=_order)
        waiting += node.children


def _order(node: Node) -> tuple[int, int]:
    return node.start, node.span.span_id


def walk(roots: list[Node]) -> Iterator[tuple[Node, str]]:
    """Each node with the lines that lead to it, in reading order. Not recursive: a trace may be deep."""
    waiting = [(root, "", "") for root in reversed(roots)]
    while waiting:
        node, lead, below = waiting.pop()
        yield node, lead
        for child in reversed(node.children):
            last = child is node.children[-1]
            waiting.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))


def depth_first(roots: list[Node]) -> Iterator[tuple[Node, int]]:
    """Each node with its depth, parents first. Not recursive: a trace may be deep."""
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(node.children))


def _find_parent(node: Node, known: dict[Key, Node]) -> None:
    candidates = list(_parents(node))
    for key, _ in candidates:
        node.parent = known.get(key)
        if node.parent is not None:
            node.parent_key = key
            return
    caller = None if candidates else caller_in(node.span.tag("traceparent") or "")
    if caller is not None:
        # one that reports elsewhere, as most do, is not missed
        node.parent, node.parent_key = known.get(caller[:2]), caller[:2]
    elif candidates:
        node.missing = candidates[0][1]


def _find_by_id(nodes: list[Node]) -> None:
    """Find callers by their OTLP ids. OTLP spans and our spans name each other by these ids, and so do two of our spans
    if the call carried only the W3C headers."""
    known: dict[str, Node] = {}
    for node in nodes:
        known.setdefault(_id(node.segment.trace_id, node.segment.segment_id, node.span.span_id), node)
    for node in filter(_is_sought, nodes):
        if not node.missing:
            caller = caller_in(node.span.tag("traceparent") or "")
            node.parent = known.get(caller[0]) if caller is not None else None
        elif node.span.references:
            first = node.span.references[0]
            node.parent = known.get(_id(first.trace_id, first.segment_id, first.span_id))
        if node.parent is not None:
            node.parent_key = node.parent.segment.segment_id, node.parent.span.span_id
            node.missing = ""


def _is_sought(node: Node) -> bool:
    """Whether a caller is known, and not found yet."""
    return node.parent is None and (bool(node.missing) or node.parent_key is not None)


def _id(trace_id: str, segment_id: str, span_id: int) -> str:
    """The ids of a trace and a span as one text; a span of OTLP's is named by it already."""
    return f"{trace_id}{span_id_of(segment_id, span_id).hex()}" if is_hexadecimal(segment_id) else segment_id


def _parents(node: Node) -> Iterator[tuple[Key, str]]:
    """Where the parent may be, with the words for it, the likeliest first."""
    span, segment = node.span, node.segment
    if span.parent_span_id >= 0:
        yield (segment.segment_id, span.parent_span_id), f"span {span.parent_span_id} of this segment"
    for reference in span.references:
        words = f"span {reference.span_id} of {reference.service or 'an unknown service'}"
        yield (reference.segment_id, reference.span_id), words


def _cut_circles(nodes: list[Node]) -> None:
    """Spans that are each other's ancestors have no root: make one of them the root."""
    settled: set[int] = set()
    for node in nodes:
        path: set[int] = set()
        current: Node | None = node
        while current is not None and id(current) not in settled:
            path.add(id(current))
            if current.parent is not None and id(current.parent) in path:
                current.parent, current.missing = None, "a span that leads back here"
            current = current.parent
        settled |= path
