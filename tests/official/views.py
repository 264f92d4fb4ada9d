"""A program's segments as both agents are compared by: all but ids, times and the ports of clients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from swagent.collector.store.trace_records import Segment, Span

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, order=True)
class SpanView:
    """What a span says."""

    parent: int
    kind: str
    operation: str
    peer: str
    layer: str
    component: int
    failed: bool
    tags: Pairs
    log_fields: tuple[tuple[str, ...], ...]
    references: tuple[tuple[str, str], ...]
    """The kind, and the operation at the other end."""

    def without_tag(self, key: str, value: str | None = None) -> SpanView:
        """The same without a tag; or with another value."""
        kept = tuple(pair for pair in self.tags if pair[0] != key)
        return replace(self, tags=kept if value is None else tuple(sorted((*kept, (key, value)))))


SegmentView = tuple[SpanView, ...]
"""Its spans in the order in which they began."""


def views_of(segments: Sequence[Segment], port: int) -> list[SegmentView]:
    """Each segment of a program, in an order that has nothing to do with time.

    :param port: the one that the program was given
    """
    by_start = (sorted(segment.spans, key=lambda span: span.span_id) for segment in segments)
    return sorted(tuple(_view(span, port) for span in spans) for spans in by_start)


def _view(span: Span, port: int) -> SpanView:
    return SpanView(
        span.parent_span_id,
        span.kind,
        span.operation,
        re.sub(rf"^127\.0\.0\.1:(?!{port}$)\d+$", "127.0.0.1:any", span.peer).replace(str(port), "PORT"),
        span.layer,
        span.component_id,
        span.is_error,
        tuple(sorted((key, value.replace(str(port), "PORT")) for key, value in span.tags)),
        tuple(tuple(key for key, _ in log.data) for log in span.logs),
        tuple((reference.kind, reference.endpoint) for reference in span.references),
    )
