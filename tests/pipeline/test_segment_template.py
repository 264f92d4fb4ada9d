"""The bytes of a segment of one span are those that the full path gives, whatever it holds."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swagent.abc import Codec
from swagent.pipeline import segment_template
from swagent.pipeline.encoder import Encoder
from swagent.pipeline.segment_template import EARLIEST, LATEST
from swagent.record.trace.model import Component, Layer, SpanKind
from swagent.record.trace.segment import Segment
from swagent.record.trace.single_span import SingleSpanSegment, SpanTemplate
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer

NOW = 1_790_000_000_123
ENCODERS = {codec: Encoder(codec, "shop", "one") for codec in get_args(Codec)}
TEXTS = st.text(max_size=20) | st.sampled_from(
    [segment_template._TRACE_ID, "^" * 14, "^", str(segment_template._START), "\ud800", '"\\']
)


def template_of(name: str = "GET:/items/{id}", *tags: tuple[str, str], failed: bool = False) -> SpanTemplate:
    return SpanTemplate(name, SpanKind.ENTRY, Layer.HTTP, Component.FASTAPI, tags, failed=failed)


def as_ever(codec: str, single: SingleSpanSegment) -> bytes:
    """The same segment, by way of a span."""
    template = single.template
    span = Span(template.name, SpanKind(template.kind), single.peer, template.layer, template.component)
    span.id, span.start_time, span.end_time = 0, single.start / 1000 + 0.0001, single.end / 1000 + 0.0001
    span.tags, span.failed = list(template.tags), template.failed
    segment = Segment(Tracer("shop", "one", lambda _: None), span, single.trace_id, single.segment_id)
    return ENCODERS[codec].segment((segment, [span]))


@pytest.mark.parametrize("codec", ENCODERS)
@given(
    name=TEXTS,
    tags=st.lists(st.tuples(TEXTS, TEXTS), max_size=3),
    failed=st.booleans(),
    ids=st.tuples(st.text("0123456789abcdef", min_size=32, max_size=32), st.just("f" * 32)),
    times=st.tuples(st.integers(NOW, NOW + 10**6), st.integers(NOW, NOW + 10**9)) | st.just((0, 1)),
    peer=TEXTS | st.just("127.0.0.1:43210"),
)
@example("GET:/", [], False, ("0" * 32, "1" * 32), (EARLIEST, LATEST), "127.0.0.1:43210")
@example(
    "GET:/",
    [],
    False,
    ("0" * 32, "1" * 32),
    (EARLIEST - 1, LATEST + 1),
    "127.0.0.1:43210",
)
@example(str(segment_template._START), [("at", str(segment_template._END))], True, ("0" * 32, "1" * 32), (NOW, NOW), "")
def test_whatever_it_holds(
    codec: str,
    name: str,
    tags: list[tuple[str, str]],
    failed: bool,
    ids: tuple[str, str],
    times: tuple[int, int],
    peer: str,
) -> None:
    single = SingleSpanSegment(template_of(name, *tags, failed=failed), *ids, *times, peer)
    assert ENCODERS[codec].segment(single) == as_ever(codec, single)


@pytest.mark.parametrize("codec", ENCODERS)
def test_one_mold_serves_every_segment_of_a_shape(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, template = Encoder(codec, "shop", "one"), template_of()
    generic: list[SingleSpanSegment] = []
    cast = encoder.encode_generic

    def count(single: SingleSpanSegment) -> bytes:
        generic.append(single)
        return cast(single)

    monkeypatch.setattr(encoder, "encode_generic", count)
    for number in range(100):
        single = SingleSpanSegment(
            template, f"{number:032x}", f"{number:032X}", NOW + number, NOW + 2 * number, f"10.0.0.{number}:80"
        )
        assert encoder.segment(single) == as_ever(codec, single)
    assert len(generic) == 2  # one a length of the peer


def test_a_mark_that_stands_in_a_text_as_well_is_no_template() -> None:
    with pytest.raises(ValueError, match="not there once"):
        segment_template.SegmentTemplate(
            template_of(segment_template._SEGMENT_ID),
            4,
            ENCODERS["json"].encode_generic,
            lambda number: str(number).encode(),
        )
