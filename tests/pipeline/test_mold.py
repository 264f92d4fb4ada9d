"""A lone segment's bytes are those that the long way gives, whatever it holds."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from swagent.abc import Codec
from swagent.pipeline import segment_template as mold
from swagent.pipeline.encoder import Encoder
from swagent.record.trace.model import Component, Layer, SpanKind
from swagent.record.trace.segment import Segment
from swagent.record.trace.single_span import LoneSegment, Shape
from swagent.record.trace.span import Span
from swagent.record.trace.tracer import Tracer

NOW = 1_790_000_000_123
ENCODERS = {codec: Encoder(codec, "shop", "one") for codec in get_args(Codec)}
TEXTS = st.text(max_size=20) | st.sampled_from([mold._TRACE_ID, "^" * 14, "^", str(mold._START), "\ud800", '"\\'])


def shape_of(name: str = "GET:/items/{id}", *tags: tuple[str, str], failed: bool = False) -> Shape:
    return Shape(name, SpanKind.ENTRY, Layer.HTTP, Component.FASTAPI, tags, failed=failed)


def as_ever(codec: str, lone: LoneSegment) -> bytes:
    """The same segment, by way of a span."""
    shape = lone.shape
    span = Span(shape.name, SpanKind(shape.kind), lone.peer, shape.layer, shape.component)
    span.id, span.start_time, span.end_time = 0, lone.start / 1000 + 0.0001, lone.end / 1000 + 0.0001
    span.tags, span.failed = list(shape.tags), shape.failed
    segment = Segment(Tracer("shop", "one", lambda _: None), span, lone.trace_id, lone.segment_id)
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
@example("GET:/", [], False, ("0" * 32, "1" * 32), (mold.EARLIEST, mold.LATEST), "127.0.0.1:43210")
@example("GET:/", [], False, ("0" * 32, "1" * 32), (mold.EARLIEST - 1, mold.LATEST + 1), "127.0.0.1:43210")
@example(str(mold._START), [("at", str(mold._END))], True, ("0" * 32, "1" * 32), (NOW, NOW), "")
def test_whatever_it_holds(
    codec: str,
    name: str,
    tags: list[tuple[str, str]],
    failed: bool,
    ids: tuple[str, str],
    times: tuple[int, int],
    peer: str,
) -> None:
    lone = LoneSegment(shape_of(name, *tags, failed=failed), *ids, *times, peer)
    assert ENCODERS[codec].segment(lone) == as_ever(codec, lone)


@pytest.mark.parametrize("codec", ENCODERS)
def test_one_mold_serves_every_segment_of_a_shape(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, shape = Encoder(codec, "shop", "one"), shape_of()
    casts: list[LoneSegment] = []
    cast = encoder._cast

    def count(lone: LoneSegment) -> bytes:
        casts.append(lone)
        return cast(lone)

    monkeypatch.setattr(encoder, "_cast", count)
    for number in range(100):
        lone = LoneSegment(
            shape, f"{number:032x}", f"{number:032X}", NOW + number, NOW + 2 * number, f"10.0.0.{number}:80"
        )
        assert encoder.segment(lone) == as_ever(codec, lone)
    assert len(casts) == 2  # one a length of the peer


def test_a_mark_that_stands_in_a_text_as_well_is_no_mold() -> None:
    with pytest.raises(ValueError, match="not there once"):
        mold.Mold(shape_of(mold._SEGMENT_ID), 4, ENCODERS["json"]._cast, lambda number: str(number).encode())
