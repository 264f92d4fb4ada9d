"""Between the protocol's messages of a trace and records of our own; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .protocol import enum_names, enum_numbers, message_class, parse
from .trace_records import Pairs, Reference, Segment, Span, SpanLog
from .wire_pieces import SMALL, cut


def decode_segment(body: bytes) -> Segment:
    """The segment that the wire's bytes hold. Those of a large one are parsed piece by piece, so that other threads
    run in between.

    :raises ValueError: when they are not a well-formed segment
    """
    if len(body) <= SMALL:
        return segment_of(parse("SegmentObject", body))
    head = message_class("SegmentObject")()
    spans: list[Span] = []
    for piece in cut(body):
        message = parse("SegmentObject", piece)
        spans += map(_span, message.spans)
        message.ClearField("spans")
        head.MergeFrom(message)
    return _segment(head, tuple(spans))


def segment_of(message: Any) -> Segment:
    """The segment that a message holds."""
    return _segment(message, tuple(map(_span, message.spans)))


def _segment(message: Any, spans: tuple[Span, ...]) -> Segment:
    return Segment(
        trace_id=message.traceId,
        segment_id=message.traceSegmentId,
        service=message.service,
        instance=message.serviceInstance,
        spans=spans,
        is_size_limited=message.isSizeLimited,
    )


def _span(message: Any) -> Span:
    return Span(
        span_id=message.spanId,
        parent_span_id=message.parentSpanId,
        start_time=message.startTime,
        end_time=message.endTime,
        operation=message.operationName,
        peer=message.peer,
        kind=name_of("SpanType", message.spanType),
        layer=name_of("SpanLayer", message.spanLayer),
        component_id=message.componentId,
        is_error=message.isError,
        tags=pairs_of(message.tags),
        logs=tuple(SpanLog(log.time, pairs_of(log.data)) for log in message.logs),
        references=tuple(map(_reference, message.refs)),
        skip_analysis=message.skipAnalysis,
    )


def _reference(message: Any) -> Reference:
    return Reference(
        kind=name_of("RefType", message.refType),
        trace_id=message.traceId,
        segment_id=message.parentTraceSegmentId,
        span_id=message.parentSpanId,
        service=message.parentService,
        instance=message.parentServiceInstance,
        endpoint=message.parentEndpoint,
        address=message.networkAddressUsedAtPeer,
    )


def pairs_of(messages: Iterable[Any]) -> Pairs:
    """Tags and the like, in their order."""
    return tuple((pair.key, pair.value) for pair in messages)


def name_of(enum: str, number: int) -> str:
    """An enum member's name; of a number that the protocol does not name, its digits."""
    return enum_names(enum).get(number) or str(number)


def message_of(segment: Segment) -> Any:
    """The message that holds a segment."""
    return message_class("SegmentObject")(
        traceId=segment.trace_id,
        traceSegmentId=segment.segment_id,
        spans=[_span_message(span) for span in segment.spans],
        service=segment.service,
        serviceInstance=segment.instance,
        isSizeLimited=segment.is_size_limited,
    )


def _span_message(span: Span) -> Any:
    return message_class("SpanObject")(
        spanId=span.span_id,
        parentSpanId=span.parent_span_id,
        startTime=span.start_time,
        endTime=span.end_time,
        refs=[_reference_message(reference) for reference in span.references],
        operationName=span.operation,
        peer=span.peer,
        spanType=_number_of("SpanType", span.kind),
        spanLayer=_number_of("SpanLayer", span.layer),
        componentId=span.component_id,
        isError=span.is_error,
        tags=_pair_messages(span.tags),
        logs=[message_class("Log")(time=log.time, data=_pair_messages(log.data)) for log in span.logs],
        skipAnalysis=span.skip_analysis,
    )


def _reference_message(reference: Reference) -> Any:
    return message_class("SegmentReference")(
        refType=_number_of("RefType", reference.kind),
        traceId=reference.trace_id,
        parentTraceSegmentId=reference.segment_id,
        parentSpanId=reference.span_id,
        parentService=reference.service,
        parentServiceInstance=reference.instance,
        parentEndpoint=reference.endpoint,
        networkAddressUsedAtPeer=reference.address,
    )


def _pair_messages(pairs: Pairs) -> list[Any]:
    return [message_class("KeyStringValuePair")(key=key, value=value) for key, value in pairs]


def _number_of(enum: str, name: str) -> int:
    number = enum_numbers(enum).get(name)
    return int(name) if number is None else number
