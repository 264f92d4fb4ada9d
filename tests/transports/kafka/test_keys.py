"""The key readers against betterproto: the same keys for every message, and for no bytes an error."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swagent_proto.messages import (
    LogData,
    LogDataBody,
    MeterData,
    MeterDataCollection,
    MeterSingleValue,
    SegmentObject,
    SpanObject,
    TextLog,
    TraceContext,
)
from swagent_transports._kafka_keys import log_key, meter_key, read_field, segment_key

texts = st.text(st.characters(codec="utf-8"), max_size=300)
numbers = st.integers(-(2**63), 2**63 - 1)
segments = st.builds(
    SegmentObject,
    trace_id=texts,
    trace_segment_id=texts,
    spans=st.lists(st.builds(SpanObject, operation_name=texts), max_size=2),
    service=texts,
    is_size_limited=st.booleans(),
)
contexts = st.builds(TraceContext, trace_id=texts, trace_segment_id=texts, span_id=st.integers(0, 100))
logs = st.builds(
    LogData,
    timestamp=numbers,
    service=texts,
    service_instance=texts,
    endpoint=texts,
    body=st.builds(LogDataBody, type=texts, text=st.builds(TextLog, text=texts)),
    trace_context=st.none() | contexts,
    layer=texts,
)
meters = st.builds(
    MeterData,
    single_value=st.builds(MeterSingleValue, name=texts, value=st.floats()),
    service=texts,
    service_instance=texts,
    timestamp=numbers,
)


@given(segments)
def test_segments(segment: SegmentObject) -> None:
    assert segment_key(bytes(segment)) == segment.trace_segment_id.encode()


@given(logs)
def test_logs(log: LogData) -> None:
    within = log.trace_context.trace_segment_id if log.trace_context else ""
    assert log_key(bytes(log)) == (within or log.service_instance).encode()


@pytest.mark.gate
@given(st.lists(meters, max_size=3))
def test_meters(data: list[MeterData]) -> None:
    first = data[0].service_instance if data else ""
    assert meter_key(bytes(MeterDataCollection(meter_data=data))) == first.encode()


@given(st.binary(max_size=100))
@example(b"\xff" * 40)
@example(b"\x0a")
@example(b"\x0a\x01a\x12\x05abc")
@example(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a")
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
def test_any_bytes(record: bytes) -> None:
    for key_of in (segment_key, log_key, meter_key):
        key = key_of(record)
        assert isinstance(key, bytes)
        assert key in record


@given(segments, st.integers(0, 600))
def test_a_record_that_was_cut_off_gives_its_key_or_none(segment: SegmentObject, size: int) -> None:
    assert segment_key(bytes(segment)[:size]) in (b"", segment.trace_segment_id.encode())


def test_unknown_fields_of_every_wire_type_are_passed_over() -> None:
    unknown = b"\x78\x96\x01" + b"\x79" + bytes(8) + b"\x7d" + bytes(4) + b"\x7a\x01x"
    assert read_field(unknown + b"\x12\x02ab", 2) == b"ab"
    assert segment_key(unknown + b"\x12\x02ab") == b"ab"


def test_a_group_ends_the_search() -> None:
    assert read_field(b"\x7b\x12\x02ab", 2) == b""
