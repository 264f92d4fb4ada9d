"""Spans and segments that the accelerator encodes are those that Python encodes, byte by byte."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.unsafe_text import is_unsafe
from swagent.acceleration import native, reason
from swagent.pipeline.encoder import Encoder
from swagent.record.trace.model import Component, Layer, Reference, RefKind, SpanKind
from swagent.record.trace.segment import Segment
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer
from swagent_proto import wire
from swagent_proto.text import clean

if native is None:
    pytest.skip(reason, allow_module_level=True)

ENCODER: Any = native.SpanEncoder(clean, max(Layer))
TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="abc /:\t\n\r\x00\x1b\x7f", max_size=40),
    st.sampled_from(["", "a" * 7, "a" * 127, "a" * 128, "é" * 90, "x" * 20_000, "\ud800", "tags.\x85"]),
)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=4)
INT32 = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, -1, 127, 128])
INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(1_700_000_000_000, 1_800_000_000_000)
ENCODED = st.lists(st.binary(max_size=4) | st.sampled_from([b"", b"b" * 126, b"b" * 300, b"b" * 70_000]), max_size=3)
FIELDS = st.tuples(
    INT32, INT32, INT64, INT64, ENCODED, TEXTS, TEXTS, st.sampled_from(SpanKind), st.sampled_from(Layer), INT32,
    st.booleans(), PAIRS, ENCODED.map(tuple), st.booleans(),
)  # fmt: skip
REFERENCES = st.builds(
    Reference, st.sampled_from(RefKind), TEXTS, TEXTS, INT32, TEXTS, TEXTS, TEXTS, TEXTS
)  # fmt: skip
SECONDS = st.floats(-1e10, 1e10) | st.floats(1.7e9, 1.8e9)
LOGS = st.lists(st.tuples(SECONDS, PAIRS), max_size=2)


@given(FIELDS)
def test_a_span_object_is_the_same(fields: tuple[Any, ...]) -> None:
    assert ENCODER.span_object(*fields) == wire.span_object(*fields)


def make_span(number: int, values: tuple[Any, ...]) -> Span:
    kind, name, peer, component, layer, refs, tags, logs, failed, start, end = values
    span = Span(name, kind, peer, layer, component)
    span.id, span.parent_id, span.refs, span.tags, span.logs = number, number - 1, refs, tags, logs
    span.failed, span.start_time, span.end_time = failed, start, end
    return span


SPANS = st.tuples(
    st.sampled_from(SpanKind), TEXTS, TEXTS, INT32 | st.sampled_from(Component), INT32 | st.sampled_from(Layer),
    st.lists(REFERENCES, max_size=2).map(tuple), PAIRS, LOGS, st.booleans(), SECONDS, SECONDS,
)  # fmt: skip


def both(segment: Segment) -> tuple[bytes | None, bytes]:
    """As the accelerator encodes a segment, and as Python does."""
    encoder, tracer = Encoder("protobuf"), segment.tracer
    encoder._native = None
    ours = ENCODER.segment(
        segment.trace_id, segment.id, segment.spans, tracer.service, tracer.instance, segment.limited
    )  # fmt: skip
    return ours, encoder.segment((segment, segment.spans))


def test_tags_that_come_again_are_the_same_and_more_of_them_than_are_kept() -> None:
    held = [(f"key {number}", f"value {number} " + "x" * (number % 300)) for number in range(1000)]
    # lists of many: a place of the kept ones is taken by others between two turns
    for turn in range(3):
        for begin in range(0, 1000, 100):
            fields = (*USUAL[:11], [*held[begin : begin + 100], ("of", f"turn {turn}"), ("é", "1")], *USUAL[12:])
            assert ENCODER.span_object(*fields) == wire.span_object(*fields)


@given(st.lists(SPANS, max_size=3), TEXTS, TEXTS, TEXTS, st.booleans())
def test_a_segment_is_the_same(
    spans: list[tuple[Any, ...]], service: str, trace_id: str, segment_id: str, limited: bool
) -> None:
    made = [make_span(number, values) for number, values in enumerate(spans)]
    segment = Segment(Tracer(service, "one", lambda _: None), None, trace_id, segment_id)
    segment.spans, segment.limited = [*made], limited
    ours, theirs = both(segment)
    is_known = all(0 <= each.layer <= max(Layer) and each.component >= 0 for each in made)
    assert ours == (theirs if is_known else None)
    # in a group, and beside what is none
    group: list[Any] = [(segment, segment.spans), object(), (segment, ()), (object(), []), (segment, [])]
    written = ENCODER.segments(group)
    assert written[:4] == [ours, None, None, None]
    assert written[4] == ENCODER.segment(segment.trace_id, segment.id, [], service, "one", limited)


@pytest.mark.parametrize("position", [0, 8, 33])
def test_each_unsafe_letter_is_seen_wherever_it_is(position: int) -> None:
    for code in (*range(0x3000), *range(0xD7F0, 0xE010), 0xFFFD, 0x1F600):
        text = "a" * position + chr(code) + "bcdefgh"
        written = ENCODER.segment(text, "", [], "", "", False)
        assert (text.encode(errors="surrogatepass") in written) is not is_unsafe(chr(code)), hex(code)


class Text(str):
    __slots__ = ()


class Number(int):
    pass


USUAL: tuple[Any, ...] = (0, -1, 5, 6, (), "name", "peer", 0, 0, 0, False, [], (), False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (0, 2**31), (1, -(2**31) - 1), (2, 2**63), (0, 1.0), (4, iter([b""])), (4, [bytearray()]), (5, Text("name")),
        (5, None), (10, 1), (11, [["a", "b"]]), (11, [("a",)]), (11, [("a", Text("b"))]), (11, [("a", 1)]), (12, None),
    ],
)  # fmt: skip
def test_unusual_spans_are_left_to_python(field: int, value: object) -> None:
    fields = [*USUAL]
    fields[field] = value
    assert ENCODER.span_object(*fields) is None


def test_a_number_of_a_class_of_its_own_is_a_number() -> None:
    fields = (Number(3), *USUAL[1:])
    assert ENCODER.span_object(*fields) == wire.span_object(3, *USUAL[1:])


@pytest.mark.parametrize("times", [float("nan"), float("inf"), 1e300, 5])
def test_odd_times_and_spans_are_left_to_python(times: float) -> None:
    span = Span("name", SpanKind.LOCAL)
    span.start_time = times
    assert ENCODER.segment("1", "2", [span], "s", "i", False) is None
    assert ENCODER.segment("1", "2", [object()], "s", "i", False) is None
    assert ENCODER.segment("1", "2", (), "s", "i", False) is None


def test_an_exception_that_has_to_reach_the_application_does() -> None:
    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    def fail(_: str) -> str:
        raise ValueError

    assert native is not None
    assert native.SpanEncoder(fail, 6).segment("é", "2", [], "s", "i", False) is None
    with pytest.raises(KeyboardInterrupt):
        native.SpanEncoder(interrupt, 6).segment("é", "2", [], "s", "i", False)
    segment = Segment(Tracer("é", "one", lambda _: None), None, "1", "2")
    assert native.SpanEncoder(fail, 6).segments([(segment, [])]) == [None]
    with pytest.raises(KeyboardInterrupt):
        native.SpanEncoder(interrupt, 6).segments([(segment, [])])


def test_a_list_may_become_shorter_meanwhile() -> None:
    tags = [("é", "1"), ("b", "2"), ("c", "3")]

    def empty(text: str) -> str:
        tags.clear()
        return text

    assert native is not None
    written = native.SpanEncoder(empty, 6).span_object(*USUAL[:11], tags, (), False)
    usual: tuple[Any, ...] = (*USUAL[:11], [("é", "1")], (), False)
    assert written == wire.span_object(*usual)


@settings(max_examples=20)
@given(FIELDS)
def test_no_reference_is_lost(fields: tuple[Any, ...]) -> None:
    ENCODER.span_object(*fields)
    # None and its like are held by everything
    watched = [each for each in fields if sys.getrefcount(each) < 500]
    held = [*map(sys.getrefcount, watched)]
    for _ in range(20):
        ENCODER.span_object(*fields)
    assert [*map(sys.getrefcount, watched)] == held
