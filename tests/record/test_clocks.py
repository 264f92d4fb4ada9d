"""Spans take their place in time from the wall clock, and what passes within a segment from the monotonic one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swagent import entry_span, local_span
from swagent.record.trace.context import current

from .clocks import spans_by
from .recorded import Recorder, work

DAY = 86_400.0
NOON = 1_700_000_000.0
jumps = pytest.mark.parametrize("jump", [DAY, -DAY])


class _Clocks:
    """Both clocks: time passes on both, the wall clock alone is set."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.wall = NOON

    def time(self) -> float:
        return self.wall + self.passed

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture
def clocks() -> Iterator[_Clocks]:
    clocks = _Clocks()
    with spans_by(clocks.time, clocks.monotonic):
        yield clocks


@jumps
def test_a_wall_clock_that_is_set_tears_nothing_apart(recorder: Recorder, clocks: _Clocks, jump: float) -> None:
    with entry_span("request") as request:
        clocks.passed += 1
        with local_span("before"):
            clocks.wall += jump
            clocks.passed += 1
            request.log(event="set")
        with local_span("after"):
            clocks.passed += 1
    times = {span.name: (span.start_time - NOON, span.end_time - NOON) for span in recorder.only.spans}
    assert times == {"request": (0, 3), "before": (1, 2), "after": (2, 3)}
    assert request.logs[0][0] == NOON + 2
    work("the next segment")
    assert recorder.span("the next segment").start_time == NOON + jump + 3


@jumps
def test_a_request_is_continued_for_as_long_as_ever(recorder: Recorder, clocks: _Clocks, jump: float) -> None:
    with entry_span("request") as request:
        pass
    # the work of a task that outlives its request
    current.set(request)
    clocks.wall += jump
    clocks.passed += 59
    work("soon")
    clocks.passed += 2
    work("late")
    assert recorder.reference("soon").segment_id == request.segment_id
    assert not recorder.span("late").refs
