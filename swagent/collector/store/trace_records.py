"""The records of traces: references, spans, segments.

Names of kinds and layers are the protocol's own words (`Entry`, `Http`, `CrossProcess`); a number that the
protocol does not name is kept as its digits. Times are milliseconds since the epoch. Tags are pairs, not a mapping,
because a key may occur twice.
"""

from __future__ import annotations

from dataclasses import dataclass

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The span that caused a segment, as the segment's propagation headers named it."""

    kind: str
    trace_id: str
    segment_id: str
    span_id: int
    service: str
    instance: str
    endpoint: str
    address: str


@dataclass(frozen=True, slots=True)
class SpanLog:
    """Something that happened at one moment within a span."""

    time: int
    data: Pairs


@dataclass(frozen=True, slots=True)
class Span:
    """One operation within a segment; `parent_span_id` is -1 for the segment's first span."""

    span_id: int
    parent_span_id: int
    start_time: int
    end_time: int
    operation: str
    peer: str = ""
    kind: str = "Local"
    layer: str = "Unknown"
    component_id: int = 0
    is_error: bool = False
    tags: Pairs = ()
    logs: tuple[SpanLog, ...] = ()
    references: tuple[Reference, ...] = ()
    skip_analysis: bool = False

    def tag(self, key: str) -> str | None:
        """The first value of a tag; None where there is none."""
        return next((value for name, value in self.tags if name == key), None)


@dataclass(frozen=True, slots=True)
class Segment:
    """One process's part of a trace."""

    trace_id: str
    segment_id: str
    service: str
    instance: str
    spans: tuple[Span, ...]
    is_size_limited: bool = False
