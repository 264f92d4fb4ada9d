"""A span within a generator is current while the generator runs, and never across a `yield`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from swagent import current_span, entry_span, local_span

from .recorded import Recorder, in_a_thread, work


def _numbers(count: int = 3) -> Generator[int, None, None]:
    with local_span("numbers") as span:
        for number in range(count):
            assert current_span() is span
            work(f"inside {number}")
            yield number
            assert current_span() is span


def test_the_consumers_spans_are_not_the_generators(recorder: Recorder) -> None:
    with entry_span("request") as request:
        for number in _numbers():
            assert current_span() is request
            work(f"outside {number}")
        assert current_span() is request
    parents = {name: recorder.parent_of(name) for name in recorder.only.names}
    assert parents == {
        "request": None,
        "numbers": "request",
        **{f"inside {number}": "numbers" for number in range(3)},
        **{f"outside {number}": "request" for number in range(3)},
    }


def test_without_a_request_the_consumer_begins_traces_of_its_own(recorder: Recorder) -> None:
    for number in _numbers(2):
        assert current_span() is None
        work(f"outside {number}")
    assert sorted(recorder.names) == [["numbers", "inside 0", "inside 1"], ["outside 0"], ["outside 1"]]


def test_generators_side_by_side_keep_apart(recorder: Recorder) -> None:
    def letters(name: str) -> Iterator[None]:
        with local_span(name):
            for number in range(3):
                work(f"{name} {number}")
                yield

    with entry_span("request"):
        for _ in zip(letters("a"), letters("b"), letters("c"), strict=True):
            work("outside")
    for name in "abc":
        assert recorder.parent_of(name) == "request"
        assert {recorder.parent_of(f"{name} {number}") for number in range(3)} == {name}


def test_a_generator_within_a_generator_is_its_child(recorder: Recorder) -> None:
    def doubled() -> Iterator[int]:
        with local_span("doubled"):
            for number in _numbers(2):
                work(f"double {number}")
                yield 2 * number

    with entry_span("request"):
        assert list(doubled()) == [0, 2]
    assert [recorder.parent_of(name) for name in ("doubled", "numbers", "inside 1", "double 1")] == [
        "request", "doubled", "numbers", "doubled",
    ]  # fmt: skip


def test_a_generator_that_goes_on_after_its_request_keeps_its_segment_open(recorder: Recorder) -> None:
    with entry_span("request"):
        numbers = _numbers(2)
        next(numbers)
    assert recorder.segments == []
    assert current_span() is None
    work("outside")
    assert list(numbers) == [1]
    assert recorder.of("request").names == ["request", "numbers", "inside 0", "inside 1"]


def test_a_generator_may_go_on_in_another_thread(recorder: Recorder) -> None:
    def letters() -> Iterator[str]:
        with local_span("letters"):
            yield "a"
            yield "b"

    rest: list[str] = []
    with entry_span("request"):
        generator = letters()
        assert next(generator) == "a"
        in_a_thread(lambda: rest.extend(generator))
    assert rest == ["b"]
    assert recorder.only.names == ["request", "letters"]


@contextmanager
def _session() -> Iterator[None]:
    with local_span("session"):
        work("open")
        yield
        work("close")


def test_a_context_manager_made_of_a_generator_covers_its_body_but_is_not_current_there(recorder: Recorder) -> None:
    with entry_span("request") as request, _session():
        assert current_span() is request
        work("body")
    assert {name: recorder.parent_of(name) for name in ("session", "open", "body", "close")} == {
        "session": "request", "open": "session", "body": "request", "close": "session",
    }  # fmt: skip
    assert recorder.span("session").end_time >= recorder.span("body").end_time


def test_a_failure_in_the_body_marks_the_span_of_the_context_manager(recorder: Recorder) -> None:
    with pytest.raises(LookupError), entry_span("request"), _session():
        raise LookupError
    assert recorder.span("session").failed


def test_a_generator_that_is_dropped_ends_its_span(recorder: Recorder) -> None:
    with entry_span("request"):
        next(_numbers())
        gc.collect()
    assert recorder.only.names == ["request", "numbers", "inside 0"]


@pytest.mark.parametrize("collect", [gc.collect, lambda: in_a_thread(gc.collect)], ids=["here", "in another thread"])
def test_a_generator_in_a_cycle_ends_its_span_when_it_is_found(
    recorder: Recorder, collect: Callable[[], object]
) -> None:
    def lose() -> None:
        cycle: list[object] = [numbers := _numbers()]
        cycle.append(cycle)
        next(numbers)

    gc.collect()
    with entry_span("request") as request:
        gc.disable()
        lose()
        collect()
        gc.enable()
        assert current_span() is request
    assert recorder.only.names == ["request", "numbers", "inside 0"]
