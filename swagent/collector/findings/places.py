"""The names of spans as places of evidence; pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..api.node import Node
from .finding import MOST_PLACES, Place


def place(node: Node) -> Place:
    """The place of a span."""
    return Place(node.segment.trace_id, f"{node.segment.segment_id}:{node.span.span_id}")


def places(nodes: Iterable[Node]) -> tuple[Place, ...]:
    """The places of spans, as many as a finding names."""
    found: list[Place] = []
    for node in nodes:
        if len(found) == MOST_PLACES:
            break
        found.append(place(node))
    return tuple(found)
