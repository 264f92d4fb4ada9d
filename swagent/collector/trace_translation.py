"""From the protocol's messages of a trace to records of our own; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from swagent_proto import messages as wire

from .trace_records import Pairs, Reference, Segment, Span, SpanLog


def segment_of(message: wire.SegmentObject) -> Segment:
    """The segment that a message holds."""
    return Segment(
        trace_id=message.trace_id,
        segment_id=message.trace_segment_id,
        service=message.service,
        instance=message.service_instance,
        spans=tuple(map(_span, message.spans)),
        is_size_limited=message.is_size_limited,
    )


def _span(message: wire.SpanObject) -> Span:
    return Span(
        span_id=message.span_id,
        parent_span_id=message.parent_span_id,
        start_time=message.start_time,
        end_time=message.end_time,
        operation=message.operation_name,
        peer=message.peer,
        kind=name_of(message.span_type),
        layer=name_of(message.span_layer),
        component_id=message.component_id,
        is_error=message.is_error,
        tags=pairs_of(message.tags),
        logs=tuple(SpanLog(log.time, pairs_of(log.data)) for log in message.logs),
        references=tuple(map(_reference, message.refs)),
        skip_analysis=message.skip_analysis,
    )


def _reference(message: wire.SegmentReference) -> Reference:
    return Reference(
        kind=name_of(message.ref_type),
        trace_id=message.trace_id,
        segment_id=message.parent_trace_segment_id,
        span_id=message.parent_span_id,
        service=message.parent_service,
        instance=message.parent_service_instance,
        endpoint=message.parent_endpoint,
        address=message.network_address_used_at_peer,
    )


def pairs_of(messages: Iterable[wire.KeyStringValuePair]) -> Pairs:
    """Tags and the like, in their order."""
    return tuple((pair.key, pair.value) for pair in messages)


def name_of(member: Any) -> str:
    """An enum member's name; of a number that the protocol does not name, its digits."""
    return member.name or str(int(member))
