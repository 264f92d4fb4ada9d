"""From a span of OTLP to a segment of SkyWalking's protocol; pure."""

from __future__ import annotations

from typing import Any

from ...store.protocol import message_class
from .origin import Origin
from .places import own_place, place_of
from .tags import ENTRY, EXIT, LOCAL, component_of, layer_of, peer_of, tags_of
from .values import texts_of

_MILLISECOND = 1_000_000
# by the numbers of OTLP: unspecified, internal, server, client, producer, consumer
_KINDS: tuple[int, ...] = (LOCAL, LOCAL, ENTRY, EXIT, EXIT, ENTRY)
_ERROR = 2
_KNOWN, _REMOTE = 0x100, 0x200
_CROSS_PROCESS, _CROSS_THREAD = 0, 1
_EXCEPTION = {"exception.type": "error.kind", "exception.message": "message", "exception.stacktrace": "stack"}


def segment_of(origin: Origin, scope: Any, span: Any) -> Any:
    """The SegmentObject of a span: a segment of its own.

    :raises ValueError: when its ids are none
    """
    _check_ids(span.trace_id, span.span_id)
    attributes = texts_of(span.attributes)
    number = int(span.kind)
    kind = _KINDS[number] if 0 <= number < len(_KINDS) else LOCAL
    layer = layer_of(attributes)
    tags = tags_of(attributes, layer)
    if scope.name:
        tags.setdefault("otel.scope.name", scope.name)
    place = own_place(span.trace_id, span.span_id)
    encoded = message_class("SpanObject")(
        spanId=place.span_id,
        parentSpanId=-1,
        startTime=_milliseconds(span.start_time_unix_nano),
        endTime=_milliseconds(max(span.end_time_unix_nano, span.start_time_unix_nano)),
        refs=_references(origin, kind, span),
        operationName=span.name,
        peer=peer_of(attributes, kind, layer),
        spanType=kind,
        spanLayer=layer,
        componentId=component_of(attributes, kind),
        isError=span.status.code == _ERROR,
        tags=_pairs(tags),
        logs=_logs(span),
    )
    return message_class("SegmentObject")(
        traceId=span.trace_id.hex(),
        traceSegmentId=place.segment_id,
        spans=[encoded],
        service=origin.service,
        serviceInstance=origin.instance,
    )


def _check_ids(trace_id: bytes, span_id: bytes) -> None:
    if len(trace_id) != 16 or not any(trace_id):
        raise ValueError("a trace's id has 16 bytes, and not all of them are zero")
    if len(span_id) != 8 or not any(span_id):
        raise ValueError("a span's id has 8 bytes, and not all of them are zero")


def _milliseconds(nanoseconds: int) -> int:
    return min(nanoseconds // _MILLISECOND, 2**62)


def _references(origin: Origin, kind: int, span: Any) -> list[Any]:
    """The parent first, then the links."""
    found: list[Any] = []
    if len(span.parent_span_id) == 8 and any(span.parent_span_id):
        is_remote = bool(span.flags & _REMOTE) if span.flags & _KNOWN else kind == ENTRY
        place = place_of(span.trace_id, span.parent_span_id, span.trace_state)
        found.append(
            message_class("SegmentReference")(
                refType=_CROSS_PROCESS if is_remote else _CROSS_THREAD,
                traceId=span.trace_id.hex(),
                parentTraceSegmentId=place.segment_id,
                parentSpanId=place.span_id,
                parentService="" if is_remote else origin.service,
                parentServiceInstance="" if is_remote else origin.instance,
            )
        )
    for link in span.links:
        if len(link.trace_id) == 16 and len(link.span_id) == 8:
            place = place_of(link.trace_id, link.span_id, link.trace_state)
            found.append(
                message_class("SegmentReference")(
                    refType=_CROSS_PROCESS,
                    traceId=link.trace_id.hex(),
                    parentTraceSegmentId=place.segment_id,
                    parentSpanId=place.span_id,
                )
            )
    return found


def _logs(span: Any) -> list[Any]:
    """The events; the text of a failed status counts as an error where no exception says it."""
    found: list[Any] = []
    has_error = False
    for event in span.events:
        # such events contain the words of users and models
        data = {} if event.name.startswith("gen_ai.") else texts_of(event.attributes)
        is_exception = event.name == "exception"
        has_error = has_error or is_exception
        if is_exception:
            data = {_EXCEPTION.get(key, key): value for key, value in data.items()}
        fields = {"event": "error" if is_exception else event.name, **data}
        found.append(message_class("Log")(time=_milliseconds(event.time_unix_nano), data=_pairs(fields)))
    if span.status.message and not has_error:
        fields = {"event": "error", "message": span.status.message}
        found.append(message_class("Log")(time=_milliseconds(span.end_time_unix_nano), data=_pairs(fields)))
    return found


def _pairs(texts: dict[str, str]) -> list[Any]:
    return [message_class("KeyStringValuePair")(key=key, value=value) for key, value in texts.items()]
