"""The functions for spans do not raise, whatever an application hands to them, and read all that can be read."""

from __future__ import annotations

from typing import Any

import pytest

from swagent import entry_span, get_correlation, put_correlation
from swagent.record.trace.carrier import Carrier, format_sw8, parse_correlation, parse_sw8

from .recorded import Recorder

CARRIER = Carrier(True, "trace-1", "segment-1", 3, "web", "web-1", "GET:/cart", "shop:80")
SW8 = format_sw8(CARRIER).encode()
CORRELATION = b"aw==:dg=="


class Text(str):
    """A text with an idea of its own."""

    def __len__(self) -> int:
        raise LookupError

    __bool__ = __str__ = isascii = split = encode = __len__  # type: ignore[assignment]


class Undecided:
    """As an array, it is neither true nor false."""

    def __bool__(self) -> bool:
        raise ValueError

    __eq__ = __hash__ = __len__ = __bool__  # type: ignore[assignment]


HELD = [bytearray, memoryview, lambda value: Text(value.decode()), type("Octets", (bytes,), {})]
NONE: list[Any] = [[SW8], [b"k:v"], 7, 0, 1.5, True, {}, object(), Undecided(), memoryview(b"abcdef")[::2], Exception]


@pytest.mark.parametrize("hold", HELD)
def test_a_header_is_read_whatever_holds_it(recorder: Recorder, hold: Any) -> None:
    assert parse_sw8(hold(SW8)) == CARRIER
    assert parse_correlation(hold(CORRELATION), 3, 128) == {"k": "v"}
    with entry_span("m", sw8=hold(SW8), correlation=hold(CORRELATION)) as span:
        assert span.trace_id == "trace-1"
        assert get_correlation("k") == "v"


@pytest.mark.parametrize("odd", [*NONE, "1-²"], ids=[repr(type(each)) + str(i) for i, each in enumerate([*NONE, ""])])
def test_an_object_that_is_no_header_counts_as_none(recorder: Recorder, odd: Any) -> None:
    with entry_span("m", sw8=odd, correlation=odd) as span:
        assert span.trace_id
        assert get_correlation("k") is None
    assert recorder.only.spans[0].refs == ()


def test_a_view_that_was_released_counts_as_none(recorder: Recorder) -> None:
    view = memoryview(SW8)
    view.release()
    with entry_span("m", sw8=view):  # type: ignore[arg-type]
        pass
    assert recorder.only.spans[0].refs == ()


KEYS = [*NONE, None, b"k", Text("k"), "\ud800", "k" * 10_000]


@pytest.mark.parametrize("odd", KEYS, ids=range(len(KEYS)))
def test_anything_is_put_and_asked_for(recorder: Recorder, odd: Any) -> None:
    with entry_span("m"):
        assert get_correlation(odd) is None
        is_in = put_correlation(odd, odd)
        assert (get_correlation(odd) is not None) == is_in


def test_the_text_of_a_key_is_the_key(recorder: Recorder) -> None:
    with entry_span("m"):
        assert put_correlation(7, 8)  # type: ignore[arg-type]
        assert get_correlation("7") == get_correlation(7) == "8"  # type: ignore[arg-type]
