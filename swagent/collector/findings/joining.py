"""A trace, joined, with its critical path; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..api.clocks import extent
from ..api.node import Node
from ..api.tree import depth_first, join
from ..store.trace_records import Segment
from .path import Piece, critical_path

MOST_SPANS = 20_000
"""Spans of a trace that are looked at; of a larger one nothing is said."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A trace, joined.

    :ivar head: the request that its client waited for
    """

    head: Node
    nodes: Sequence[Node]
    path: Sequence[Piece]
    segments: Sequence[Segment]


def joined(segments: Sequence[Segment], most: int = MOST_SPANS) -> Joined | None:
    """Join the segments of a trace; None where there is no span, or where there are too many."""
    if not 0 < sum(len(segment.spans) for segment in segments) <= most:
        return None
    roots = join(segments)
    nodes = [node for node, _ in depth_first(roots)]
    whole = extent(roots, max(nodes, key=lambda node: node.end))
    head = next((each for each in roots if (each.start, each.end - each.start) == whole[:2]), roots[0])
    return Joined(head, nodes, critical_path(head), segments)
