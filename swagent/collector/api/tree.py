"""Joins the segments of a trace into trees of spans; pure.

A span hangs under its parent in the same segment, a segment's first span under the span that one of its
references names. Reports arrive in any order and not always in full, and agents may err: every span that was
received is in the result exactly once, whatever its parents. A trace may have very many spans, so the work is
a generator that yields between short steps.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from heapq import merge

from ..pace import run
from ..store.trace_records import Segment
from .clocks import align
from .node import Key, Node

Steps = Generator[None, None, None]
_STEP = 200
_SORTED_AT_ONCE = 1000


def join(segments: Iterable[Segment]) -> list[Node]:
    """The roots of a trace's trees, oldest first; those whose parent is missing among them."""
    return run(joining(segments))


def joining(segments: Iterable[Segment]) -> Generator[None, None, list[Node]]:
    """The same, step by step."""
    nodes: list[Node] = []
    known: dict[Key, Node] = {}
    for segment in segments:
        for span in segment.spans:
            nodes.append(Node(segment, span))
            known.setdefault((segment.segment_id, span.span_id), nodes[-1])
            if not len(nodes) % _STEP:
                yield
    for number, node in enumerate(nodes):
        _find_parent(node, known)
        if not number % _STEP:
            yield
    yield from _cut_circles(nodes)
    roots: list[Node] = []
    for number, node in enumerate(nodes):
        (roots if node.parent is None else node.parent.children).append(node)
        if not number % _STEP:
            yield
    yield from _place(roots)
    return roots


def _place(roots: list[Node]) -> Steps:
    """Correct the clocks from the roots down, and sort."""
    yield from _sort(roots)
    waiting, number = list(roots), 0
    while waiting:
        node = waiting.pop()
        for child in node.children:
            align(child, node)
            number += 1
            if not number % _STEP:
                yield
        yield from _sort(node.children)
        waiting += node.children


def _sort(nodes: list[Node]) -> Steps:
    if len(nodes) <= _SORTED_AT_ONCE:
        nodes.sort(key=_order)
        return
    parts: list[list[Node]] = []
    for low in range(0, len(nodes), _SORTED_AT_ONCE):
        parts.append(sorted(nodes[low : low + _SORTED_AT_ONCE], key=_order))
        yield
    for number, node in enumerate(merge(*parts, key=_order)):
        nodes[number] = node
        if not number % _STEP:
            yield


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
    if candidates:
        node.missing = candidates[0][1]


def _parents(node: Node) -> Iterator[tuple[Key, str]]:
    """Where the parent may be, with the words for it, the likeliest first."""
    span, segment = node.span, node.segment
    if span.parent_span_id >= 0:
        yield (segment.segment_id, span.parent_span_id), f"span {span.parent_span_id} of this segment"
    for reference in span.references:
        words = f"span {reference.span_id} of {reference.service or 'an unknown service'}"
        yield (reference.segment_id, reference.span_id), words


def _cut_circles(nodes: list[Node]) -> Steps:
    """Spans that are each other's ancestors have no root: make one of them the root."""
    settled: set[int] = set()
    number = 0
    for node in nodes:
        path: set[int] = set()
        current: Node | None = node
        while current is not None and id(current) not in settled:
            path.add(id(current))
            if current.parent is not None and id(current.parent) in path:
                current.parent, current.missing = None, "a span that leads back here"
            current = current.parent
            number += 1
            if not number % _STEP:
                yield
        settled |= path
