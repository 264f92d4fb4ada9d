"""A segment of one span, as most requests produce. It takes the fast path, see `pipeline/segment_template.py`.

The fields that its span shares with others of its operation are computed once, as its template.
"""

from __future__ import annotations

from typing import NamedTuple


class SpanTemplate:
    """The common fields of the spans of one operation with one outcome. Looked up by identity."""

    __slots__ = ("component", "failed", "kind", "layer", "name", "tags")

    def __init__(
        self, name: str, kind: int, layer: int, component: int, tags: tuple[tuple[str, str], ...], *, failed: bool
    ) -> None:
        """:param name: as `name_of` gives it"""
        self.name = name
        self.kind = kind
        self.layer = layer
        self.component = component
        self.tags = tags
        self.failed = failed


class SingleSpanSegment(NamedTuple):
    """A finished segment of one span, but for its reference."""

    template: SpanTemplate
    trace_id: str
    segment_id: str
    start: int
    """Milliseconds since the epoch."""
    end: int
    peer: str
