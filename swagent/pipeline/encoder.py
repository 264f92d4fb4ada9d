"""A finished record becomes bytes, in the codec that the transport asks for: the core module that knows the wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import acceleration
from ..abc import Codec
from ..agent_log import RateLimitedLog
from ..record.bounded_cache import BoundedCache
from ..record.events import Event
from ..record.logs.entry import LogEntry
from ..record.meters.samples import Sample
from ..record.snapshot import ProfileSnapshot
from ..record.trace.model import Component, Layer, SpanRecord
from ..record.trace.segment import Segment
from ..record.trace.single_span import SingleSpanSegment, SpanTemplate
from .meter_encoding import encode_meters
from .segment_template import Lengths, make_template
from .span_writer import SpanWriter


class Encoder:
    """Encodes one agent's records. Any thread; keeps nothing but what it has encoded before."""

    def __init__(self, codec: Codec, service: str = "", instance: str = "") -> None:
        """
        :param codec: `protobuf` for the wire of gRPC and Kafka, `json` for HTTP
        :param service: the name of the service, for the records that do not have it themselves
        """
        # two modules of the same functions, generated from the same .proto files
        wire: Any
        self.more_tags: Callable[[Sequence[tuple[str, str]]], bytes]
        """Writes the tags of a span that follow its first tag."""
        write_time: Callable[[int], bytes]
        if codec == "protobuf":
            from swagent_proto import wire as protobuf  # noqa: PLC0415, RUF100
            from swagent_proto.protobuf_fields import Pairs, varint  # noqa: PLC0415, RUF100

            wire, write_time = protobuf, _time_writer(varint)
            pairs = Pairs(_TAGS_OF_SPAN)
            self.more_tags = lambda tags: b"".join(map(pairs.__getitem__, tags))
        else:
            from swagent_proto import wire_json  # noqa: PLC0415, RUF100
            from swagent_proto.json_fields import Pairs as JsonPairs  # noqa: PLC0415, RUF100

            wire, write_time = wire_json, _digits
            json_pairs = JsonPairs()
            self.more_tags = lambda tags: "".join(f",{json_pairs[tag]}" for tag in tags).encode()
        self._wire = wire
        self.is_binary = codec == "protobuf"
        self.service = service
        self.instance = instance
        self._segment_object: Callable[..., bytes | str] = wire.segment_object
        self.reference: Callable[..., Any] = wire.segment_reference
        """Encodes a SegmentReference, field by field, as a part of what is encoded."""
        self._span_object: Callable[..., Any] = wire.span_object
        self._log: Callable[..., Any] = wire.log
        self._native: Any = None
        """Encodes spans of the usual types, in the place of `wire`."""
        if self.is_binary and acceleration.native is not None:
            from swagent_proto.text import clean  # noqa: PLC0415, RUF100

            self._native = acceleration.native.SpanEncoder(clean, max(Layer))
        self.segments: Callable[[list[Any]], Sequence[bytes | None]] | None = None
        """As `segment`, of several; None in the place of each that is not plain. The accelerator alone has it."""
        if self._native is not None:
            self.segments = self._native.segments
        self.write_time = write_time
        """Writes a time in milliseconds."""
        self.times = BoundedCache(write_time)
        """Times as they are written."""
        self._span: Callable[[SpanRecord], Any] = self._write_span
        if self.is_binary:
            self._span = SpanWriter(self._write_span, wire.span_object, self.times)

    def segment(self, finished: tuple[Segment, Sequence[SpanRecord]]) -> bytes:
        """A SegmentObject.

        :param finished: a segment and its spans
        :raises ValueError: when a number does not fit its field
        """
        segment, spans = finished
        tracer = segment.tracer
        if self._native is not None:
            written: bytes | None = self._native.segment(
                segment.trace_id, segment.id, spans, tracer.service, tracer.instance, segment.limited
            )
            if written is not None:
                return written
        return _as_bytes(self._segment_object(
            segment.trace_id, segment.id, [self._span(span) for span in spans], tracer.service, tracer.instance,
            segment.limited,
        ))  # fmt: skip

    def snapshot(self, snapshot: ProfileSnapshot) -> bytes:
        """A ThreadSnapshot.

        :raises ValueError: when a number does not fit its field
        """
        wire, (task, segment, time_, sequence, stack) = self._wire, snapshot
        return _as_bytes(wire.thread_snapshot(task, segment, time_, sequence, wire.thread_stack(stack)))

    def encode_generic(self, segment: SingleSpanSegment, reference: Any = None) -> bytes:
        """A SegmentObject of one span.

        :param reference: as it is written, where there is one
        :raises ValueError: when a number does not fit its field
        """
        span, trace_id, segment_id, start, end, peer = segment
        refs = (reference,) if reference else ()
        fields = (0, -1, start, end, refs, span.name, peer, span.kind, span.layer, span.component, span.failed,
                  span.tags, (), False)  # fmt: skip
        written = (self._native and self._native.span_object(*fields)) or self._span_object(*fields)
        return _as_bytes(self._segment_object(trace_id, segment_id, (written,), self.service, self.instance, False))

    def template(
        self, span: SpanTemplate, lengths: Lengths, prefixes: tuple[str, str] = ("", ""), more: bytes = b""
    ) -> bytes | None:
        """A format of the segments of one span template, with parts of the same lengths; None where there can be none.
        See `make_template`."""

        def encode(segment: SingleSpanSegment, reference: str) -> bytes:
            written: Any = reference.encode() if self.is_binary else reference
            return self.encode_generic(segment, written)

        try:
            return make_template(span, lengths, encode, self.times.__getitem__, prefixes, more)
        except ValueError:
            return None

    def log(self, entry: LogEntry) -> bytes:
        """A LogData."""
        wire = self._wire
        context = wire.trace_context(entry.trace_id, entry.segment_id, entry.span_id) if entry.trace_id else None
        body = wire.log_data_body("text", wire.text_log(entry.text), None, None)
        return _as_bytes(wire.log_data(
            entry.time, self.service, self.instance, entry.endpoint, body, context, wire.log_tags(entry.tags), ""
        ))  # fmt: skip

    def meters(self, samples: Sequence[Sample]) -> bytes:
        """A MeterDataCollection: the meters of one period, as of now."""
        now = int(time.time() * 1000)
        return _as_bytes(encode_meters(self._wire, samples, self.service, self.instance, now))

    def event(self, event: Event) -> bytes:
        """An Event of this instance."""
        source = self._wire.source(self.service, self.instance, "")
        times = event.start_time, event.end_time
        return _as_bytes(
            self._wire.event(event.id, source, event.name, 0, event.message, event.parameters, *times, "GENERAL")
        )

    def _write_span(self, span: SpanRecord) -> Any:
        try:
            layer, component = _KINDS[span.layer, span.component]
        except Exception:  # noqa: BLE001, RUF100  (not even hashable, and it costs no segment)
            layer, component = _kind((span.layer, span.component))
        return self._span_object(
            span.id,
            span.parent_id,
            int(span.start_time * 1000),
            int(span.end_time * 1000),
            [self.reference(*reference) for reference in span.refs] if span.refs else (),
            span.name,
            span.peer,
            span.kind,
            layer,
            component,
            span.failed,
            span.tags,
            [self._log(int(at * 1000), fields) for at, fields in span.logs] if span.logs else (),
            False,
        )


def _kind(given: tuple[Any, Any]) -> tuple[int, int]:
    """Layer and component as the wire takes them; unknown ones where they are nothing that a collector could know."""
    layer, component = (int.__int__(each) if issubclass(type(each), int) else -1 for each in given)
    if 0 <= layer <= max(Layer) and 0 <= component < 2**31:
        return layer, component
    layer = layer if 0 <= layer <= max(Layer) else int(Layer.UNKNOWN)
    component = component if 0 <= component < 2**31 else int(Component.UNKNOWN)
    _limited.warn(
        "kind", "a span has an odd layer or component: it is sent as layer %d of component %d", layer, component
    )
    return layer, component


# Few pairs occur, and an odd one is logged once.
_KINDS = BoundedCache(_kind)
_limited = RateLimitedLog()
# the number of the field `tags` of a SpanObject
_TAGS_OF_SPAN = 12


def _as_bytes(encoded: bytes | str) -> bytes:
    return encoded if isinstance(encoded, bytes) else encoded.encode("utf-8")


def _time_writer(varint: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Makes the function that writes a time in base 128, lowest group first, as protobuf wants it. A time is new in
    each millisecond, so a cache of whole times would not help; but all groups except the lowest two stay the same for
    sixteen seconds.

    :param varint: writes any number
    """
    upper = BoundedCache(varint)

    def write(milliseconds: int) -> bytes:
        if milliseconds < 1 << 14:
            return upper[milliseconds]
        return bytes((milliseconds & 127 | 128, milliseconds >> 7 & 127 | 128)) + upper[milliseconds >> 14]

    return write


def _digits(number: int) -> bytes:
    return str(number).encode()


def plain(text: str) -> bytes | None:
    """The bytes of a text, if every codec writes them unchanged; otherwise None."""
    if not text.isascii():
        return None
    data = text.encode()
    return None if data.translate(None, PLAIN) else data


PLAIN = bytes(letter for letter in range(0x20, 0x7F) if chr(letter) not in '"\\')
"""The letters of ASCII that every codec writes as they are."""
