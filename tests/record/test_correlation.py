"""Correlation elements: what a service puts reaches the next one, within limits, whatever a peer sends."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent import entry_span, exit_span, get_correlation, local_span, put_correlation
from swagent.record.trace.carrier import MAX_FIELD, MAX_HEADER, format_correlation, parse_correlation

from .recorded import Recorder, recording

_ELEMENTS = st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=20), max_size=5)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _element(key: str, value: str) -> str:
    return f"{_base64(key)}:{_base64(value)}"


@given(_ELEMENTS)
def test_a_written_header_is_read_back(elements: dict[str, str]) -> None:
    assert parse_correlation(format_correlation(elements), 5, 20) == elements


@given(_ELEMENTS, st.integers(0, 6), st.integers(0, 21))
def test_elements_that_are_read_keep_the_limits(elements: dict[str, str], most: int, longest: int) -> None:
    read = parse_correlation(format_correlation(elements), most, longest)
    assert len(read) <= most
    assert read.items() <= elements.items()
    assert all(len(value) <= longest for value in read.values())


@given(st.one_of(st.binary(), st.text(), st.text("YQ=:, \n")))
def test_anything_is_read_as_elements_that_can_be_written_again(value: bytes | str) -> None:
    read = parse_correlation(value, 3, 128)
    assert parse_correlation(format_correlation(read), 3, 128) == read


@pytest.mark.parametrize(
    "damaged",
    ["", "YQ==", "YQ:Yg==", "YQ==:Yg", "YQ==:Yg==:Yw==", ":Yg==", "YQ==:Yh==", "YQ==:Yg==\r\n", "YQ==;Yg==", "²:²",
     f"{_base64('k' * (MAX_FIELD + 1))}:YQ==", _element("long", "v" * 129)],
)  # fmt: skip
def test_a_malformed_element_is_left_out_and_the_others_are_kept(damaged: str) -> None:
    header = f"{_element('first', '1')},{damaged},{_element('last', '2')}"
    expected = {} if not header.isascii() else {"first": "1", "last": "2"}
    assert parse_correlation(header, 3, 128) == expected


@pytest.mark.parametrize(
    ("header", "longest", "expected"),
    [
        (f"{_element('a', '1')} ,\t{_element('b', '2')}", 128, {"a": "1", "b": "2"}),
        (_element("a", "1") + "," * MAX_HEADER, 128, {}),
        (_element("a", "€" * 700), 700, {"a": "€" * 700}),
    ],
    ids=["blanks around elements", "beyond the length of headers", "as long as the user allows"],
)
def test_what_is_read(header: str, longest: int, expected: dict[str, str]) -> None:
    assert parse_correlation(header, 3, longest) == expected


def test_an_element_that_was_put_reaches_the_next_service(recorder: Recorder) -> None:
    with entry_span("front"):
        assert put_correlation("user", "ann")
        with exit_span("call", "shop:80") as call:
            headers = call.headers()
    with entry_span("shop", sw8=headers["sw8"], correlation=headers["sw8-correlation"]):
        assert get_correlation("user") == "ann"
    assert recorder.of("shop").correlation == {"user": "ann"}


def test_an_element_can_be_replaced_when_no_further_one_fits(recorder: Recorder) -> None:
    with local_span("work"):
        assert all(put_correlation(key, "1") for key in "abc")
        assert not put_correlation("d", "1")
        assert put_correlation("a", "2")
        assert [get_correlation(key) for key in "abcd"] == ["2", "1", "1", None]


def test_an_empty_value_removes_an_element(recorder: Recorder) -> None:
    with local_span("work") as span:
        assert put_correlation("a", "1")
        assert put_correlation("a", "")
        assert put_correlation("never there", "")
        assert get_correlation("a") is None
        assert "sw8-correlation" not in span.headers()
        assert put_correlation("user", 42), "what is no text is put as text"  # type: ignore[arg-type]
        assert get_correlation("user") == "42"


@pytest.mark.parametrize(("key", "value"), [("a", "v" * 129), ("k" * (MAX_FIELD + 1), "v"), ("", "v")])
def test_an_element_that_no_reader_would_take_is_refused(recorder: Recorder, key: str, value: str) -> None:
    with local_span("work"):
        assert not put_correlation(key, value)
        assert get_correlation(key) is None


def test_elements_that_would_make_the_header_too_long_are_refused() -> None:
    with recording(correlation_limits=(64, 1000)), local_span("work") as span:
        accepted = [put_correlation(f"key {number}", "v" * 1000) for number in range(10)]
        header = span.headers()["sw8-correlation"]
    assert accepted == [True] * 3 + [False] * 7
    assert len(parse_correlation(header, 64, 1000)) == 3


def test_without_a_recorded_trace_nothing_is_put(recorder: Recorder) -> None:
    assert not put_correlation("a", "1")
    assert get_correlation("a") is None
    with recording(is_ignored=lambda _: True), local_span("ignored"):
        assert not put_correlation("a", "1")
        assert get_correlation("a") is None


def test_a_nested_entry_has_its_callers_elements_and_keeps_its_own_to_itself(recorder: Recorder) -> None:
    with local_span("work"):
        put_correlation("a", "1")
        with entry_span("inner"):
            assert get_correlation("a") == "1"
            put_correlation("b", "2")
        assert get_correlation("b") is None


def test_elements_may_be_put_while_another_thread_writes_headers(recorder: Recorder) -> None:
    with recording(correlation_limits=(64, 16)), local_span("work") as span, ThreadPoolExecutor(1) as pool:
        begun, done = threading.Event(), threading.Event()

        def write() -> Iterator[str]:
            while not done.is_set():
                yield span.headers().get("sw8-correlation", "")
                begun.set()

        writing = pool.submit(lambda: list(write()))
        assert begun.wait(10)
        for number in range(64):
            assert put_correlation(str(number), "value")
        done.set()
        written = writing.result()
    assert all(len(parse_correlation(header, 64, 16)) == header.count(":") for header in written)
