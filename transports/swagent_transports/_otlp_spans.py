"""From SkyWalking's segments to the spans of OTLP. Pure.

A reference becomes the parent of the segment's first span, by ids that both sides derive alike. A caller that is known
by its `traceparent` alone is the parent by its real id. What a segment refers to besides becomes links.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from swagent.w3c_ids import span_id_of, trace_id_of
from swagent_proto import otlp_wire
from swagent_proto.otlp_values import attribute

from ._otlp_attributes import CLIENT, SERVER, Facts, Tag, Value, describe, kind_of
from ._otlp_reading import Message, integer, pairs, read, text
from ._otlp_resource import Origin

_ERROR = 2
_NANOSECONDS = 1_000_000
# The trace is sampled, and whether the parent is of another process is known: it is, or it is not.
_HERE, _REMOTE = 0x101, 0x301
_CALLER = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-.*")
_EXCEPTION = {"error.kind": "exception.type", "message": "exception.message", "stack": "exception.stacktrace"}
_CROSS_THREAD = 1


class _Place(NamedTuple):
    """A span, by its ids."""

    trace_id: bytes
    span_id: bytes
    is_remote: bool


def spans_of(record: bytes) -> tuple[Origin, list[bytes]]:
    """The spans of an encoded segment, and where it comes from.

    :raises ValueError: when it is no segment
    """
    segment = read(record)
    trace, segment_id = trace_id_of(text(segment, 1)), text(segment, 2)
    spans = [_span(read(each), trace, segment_id) for each in segment.get(3, ())]
    return (text(segment, 4), text(segment, 5)), spans


def _span(span: Message, trace: bytes, segment_id: str) -> bytes:
    tags = pairs(span.get(12, ()))
    kind = kind_of(integer(span, 8), integer(span, 9))
    facts = Facts(kind, integer(span, 9), integer(span, 10), text(span, 6), text(span, 7), tags)
    name, attributes = describe(facts)
    events, said = _events(span)
    failed = bool(integer(span, 11))
    if failed:
        _add_error_type(kind, attributes, said.get("exception.type", ""))
    parent, links = _causes(span, trace, segment_id, tags)
    return otlp_wire.span(
        trace,
        span_id_of(segment_id, integer(span, 1)),
        "",
        parent.span_id if parent is not None else b"",
        name or "unnamed",
        kind,
        integer(span, 3) * _NANOSECONDS,
        integer(span, 4) * _NANOSECONDS,
        [attribute(key, value) for key, value in attributes.items()],
        0,
        events,
        0,
        [_link(each) for each in links],
        0,
        otlp_wire.status(said.get("exception.message", ""), _ERROR) if failed else None,
        _REMOTE if parent is not None and parent.is_remote else _HERE,
    )


def _causes(span: Message, trace: bytes, segment_id: str, tags: list[Tag]) -> tuple[_Place | None, list[_Place]]:
    """The parent of a span, and the other spans that it refers to."""
    others = [_reference(read(each)) for each in span.get(5, ())]
    within = integer(span, 2)
    if within >= 0:
        return _Place(trace, span_id_of(segment_id, within), False), others
    for key, value in tags:
        if key == "traceparent" and (caller := _CALLER.fullmatch(value)) and bytes.fromhex(caller[1]) == trace:
            return _Place(trace, bytes.fromhex(caller[2]), True), others
    if others and others[0].trace_id == trace:
        return others[0], others[1:]
    return None, others


def _reference(reference: Message) -> _Place:
    place = span_id_of(text(reference, 3), integer(reference, 4))
    return _Place(trace_id_of(text(reference, 2)), place, integer(reference, 1) != _CROSS_THREAD)


def _link(place: _Place) -> bytes:
    return otlp_wire.span_link(place.trace_id, place.span_id, "", [], 0, _REMOTE if place.is_remote else _HERE)


def _events(span: Message) -> tuple[list[bytes], dict[str, str]]:
    """The events of a span, and what the last error among them says."""
    events: list[bytes] = []
    last: dict[str, str] = {}
    for each in map(read, span.get(13, ())):
        data = dict(pairs(each.get(2, ())))
        name = data.pop("event", "") or "log"
        if name == "error":
            name, data = "exception", {_EXCEPTION.get(key, key): value for key, value in data.items()}
            last = data
        attributes = [attribute(key, value) for key, value in data.items()]
        events.append(otlp_wire.span_event(integer(each, 1) * _NANOSECONDS, name, attributes, 0))
    return events, last


def _add_error_type(kind: int, attributes: dict[str, Value], exception: str) -> None:
    """The class of a failure: that of the exception, or the status of the answer."""
    status = attributes.get("http.response.status_code")
    if exception:
        attributes["error.type"] = exception
    elif isinstance(status, int) and status >= (500 if kind == SERVER else 400) and kind in (SERVER, CLIENT):
        attributes["error.type"] = str(status)
    else:
        attributes["error.type"] = "_OTHER"
