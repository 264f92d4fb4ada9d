"""Work that outlives its request: it continues the trace for a minute, and then is work of its own."""

from __future__ import annotations

import contextvars
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from swagent import Span, current_span, entry_span, local_span, put_correlation
from swagent.record.trace.model import RefKind
from swagent.record.trace.sampling import Sampler

from .clocks import spans_by
from .recorded import Clock, Recorder, recording, work


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    with spans_by(clock, clock):
        yield clock


def _left_behind_by(request: Span) -> Callable[..., Any]:
    """Runs work in the context of a task that the request started, after the request has ended."""
    with request:
        return contextvars.copy_context().run


def test_a_task_that_outlives_its_request_continues_its_trace_with_every_span(recorder: Recorder, clock: Clock) -> None:
    request = entry_span("request")
    run = _left_behind_by(request)
    for name in ("first", "second", "third"):
        clock.now += 20
        run(work, name)
        reference, segment = recorder.reference(name), recorder.of(name)
        assert (reference.kind, reference.segment_id) == (RefKind.CROSS_THREAD, request.segment_id)
        assert (reference.span_id, segment.trace_id) == (0, request.trace_id)
        assert segment.id != request.segment_id


def test_after_a_minute_it_begins_traces_of_its_own(recorder: Recorder, clock: Clock) -> None:
    request = entry_span("request")
    run = _left_behind_by(request)
    for name in ("first", "second"):
        clock.now += 61
        run(work, name)
    assert recorder.span("first").refs == recorder.span("second").refs == ()
    assert len({request.trace_id, recorder.of("first").trace_id, recorder.of("second").trace_id}) == 3


def test_its_longer_work_stays_one_segment(recorder: Recorder, clock: Clock) -> None:
    def job() -> None:
        with local_span("job"):
            clock.now += 600
            work("step")

    _left_behind_by(entry_span("request"))(job)
    assert recorder.of("job").names == ["job", "step"]


def test_it_keeps_the_correlation_and_the_endpoint_of_its_request(recorder: Recorder, clock: Clock) -> None:
    with entry_span("GET:/items/7") as request:
        put_correlation("user", "ann")
        run = contextvars.copy_context().run
        request.name = "GET:/items/{id}"
    run(work, "late")
    assert recorder.of("late").correlation == {"user": "ann"}
    assert recorder.reference("late").endpoint == "GET:/items/{id}"


def test_the_request_alone_decides_on_sampling_within_the_minute(clock: Clock) -> None:
    sampler = Sampler(1, clock=lambda: 1.0)
    with recording(sampler=sampler) as recorder:
        run = _left_behind_by(entry_span("request"))
        run(work, "late")
        work("unsampled")
    assert recorder.names == [["request"], ["late"]]


def test_after_an_unrecorded_request_it_begins_traces_of_its_own(clock: Clock) -> None:
    with recording(is_ignored=lambda name: name == "health") as recorder:
        _left_behind_by(entry_span("health"))(work, "late")
    assert recorder.span("late").refs == ()


def _spans_alive() -> int:
    return sum(type(each) is Span for each in gc.get_objects())


def test_a_context_that_loses_its_spans_to_other_contexts_does_not_keep_them(recorder: Recorder) -> None:
    def work_elsewhere_for_ever() -> None:
        for _ in range(200):
            span = local_span("job").start()
            contextvars.copy_context().run(span.stop)
            recorder.segments.clear()

    context = contextvars.copy_context()
    gc.collect()
    before = _spans_alive()
    context.run(work_elsewhere_for_ever)
    assert _spans_alive() - before <= 2
    assert context.run(current_span) is None


def test_a_worker_for_ever_does_not_keep_its_spans(recorder: Recorder) -> None:
    run = _left_behind_by(entry_span("request"))
    gc.collect()
    before = _spans_alive()
    for number in range(200):
        run(work, str(number))
        recorder.segments.clear()
    assert _spans_alive() - before <= 1


def test_a_request_does_not_continue_the_one_before_it(recorder: Recorder, clock: Clock) -> None:
    _left_behind_by(entry_span("first"))(entry_span("second").start).stop()
    assert recorder.span("second").refs == ()
