"""A finished record is free at once: nothing is left to the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from swagent import Span, capture, entry_span, exit_span, local_span, put_correlation
from swagent.record.trace.carrier import Carrier, format_sw8
from swagent.record.trace.context_snapshot import ContextSnapshot
from swagent.record.trace.segment import Segment

from .recorded import Recorder, recording

_SW8 = format_sw8(Carrier(True, "t", "s", 0, "a", "b", "c", "d"))


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A recorder that keeps nothing, as an agent that has sent its segments."""
    with recording() as recorder:
        monkeypatch.setattr(recorder.tracer, "_offer", lambda segment: None)
        yield recorder


def _left_in_cycles(work: Callable[[], None]) -> list[object]:
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        work()
        gc.collect()
        return [each for each in gc.garbage if isinstance(each, (Span, Segment, ContextSnapshot))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _request() -> None:
    with entry_span("request", sw8=_SW8):
        put_correlation("user", "ann")
        with local_span("price") as price, exit_span("query", "db:5432") as query:
            price.tag("items", 3)
            query.headers()


def _failing_request() -> None:
    with pytest.raises(LookupError), entry_span("request"), local_span("price"):
        raise LookupError


def _out_of_order() -> None:
    outer, inner = entry_span("outer").start(), local_span("inner").start()
    outer.stop()
    inner.stop()


def _generator() -> None:
    def numbers() -> Iterator[int]:
        with local_span("numbers") as span:
            span.tag("key", "value")
            yield 1
            yield 2

    assert list(numbers()) == [1, 2]
    next(numbers())


def _captured() -> None:
    with entry_span("request"):
        snapshot = capture()
    with snapshot, local_span("late"):
        pass


@pytest.mark.parametrize("work", [_request, _failing_request, _out_of_order, _generator, _captured])
def test_finished_spans_leave_no_cycle(forgetful: Recorder, work: Callable[[], None]) -> None:
    assert _left_in_cycles(work) == []


def test_unrecorded_spans_leave_no_cycle() -> None:
    with recording(is_ignored=lambda _: True):
        assert _left_in_cycles(_out_of_order) == []


def test_a_finished_span_that_is_kept_does_not_keep_the_others(forgetful: Recorder) -> None:
    with entry_span("request") as request, local_span("price"):
        pass
    assert request.segment is not None
    held = gc.get_referents(request.segment)
    assert not any(isinstance(each, Span) for each in held)
    assert request.segment.spans == []
