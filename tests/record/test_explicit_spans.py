"""Spans whose parent, times and references are said by the caller."""

from __future__ import annotations

import time

import pytest

from swagent import current_span, entry_span, exit_span, local_span
from swagent.record.trace.model import SpanKind
from swagent.record.trace.span import Span

from .recorded import Recorder, recording


def _below(parent: Span | None, name: str, at: float | None = None) -> Span:
    return Span(name, SpanKind.EXIT, "db:5432").start_below(parent, at)


def test_a_span_below_a_given_parent_is_not_active(recorder: Recorder) -> None:
    with local_span("first") as first, local_span("second") as second:
        below = _below(first, "below")
        assert current_span() is second
        below.stop()
        assert current_span() is second
        _below(None, "alone").stop()
    assert recorder.parent_of("below") == "first"
    assert recorder.of("alone").trace_id != recorder.of("first").trace_id, "without a parent it begins a trace"


def test_below_a_parent_that_has_ended_it_refers_back(recorder: Recorder) -> None:
    with local_span("job") as job:
        pass
    _below(job, "late").stop()
    reference = recorder.reference("late")
    assert (reference.trace_id, reference.segment_id) == (recorder.of("job").trace_id, recorder.of("job").id)


def test_its_times_are_as_said(recorder: Recorder) -> None:
    now = time.time()
    _below(None, "past", now - 60).stop_at(now - 30)
    span = recorder.span("past")
    assert (span.start_time, span.end_time) == (now - 60, now - 30)
    assert not span.failed


def test_several_references_survive_whatever_becomes_of_the_segment() -> None:
    with recording(span_limit=2) as recorder:
        with exit_span("sender", "kafka:9092") as sender:
            pass
        reference = sender.reference()
        assert reference is not None
        with entry_span("request") as request:
            child = _below(request, "child")
            child.refer_to(reference)
            child.refer_to(reference)
            for name in ("more", "and more"):
                _below(request, name).stop()
            child.stop()
    refs = recorder.span("child").refs
    assert reference in refs
    # its parent went to a segment of its own, or is in its segment
    assert len(refs) == (2 if recorder.span("child").parent_id == -1 else 1)


def test_a_span_that_is_withdrawn_has_never_been(recorder: Recorder) -> None:
    with local_span("job") as job:
        span = _below(job, "double")
        assert span.segment is not None
        assert span.segment.newest_open() is span
        assert span.segment.withdraw(span)
        span.stop()
        assert not span.segment.withdraw(span)
        _below(job, "next").stop()
    assert recorder.only.names == ["job", "next"]
    assert [span.id for span in recorder.only.spans] == [1, 0]


def test_a_root_that_is_withdrawn_leaves_no_segment(recorder: Recorder) -> None:
    span = _below(None, "double")
    assert span.segment is not None
    assert span.segment.withdraw(span)
    assert not recorder.tracer.open_segments
    assert recorder.segments == []


@pytest.mark.parametrize("ends_first", [True, False])
def test_a_span_that_has_children_cannot_be_withdrawn(ends_first: bool, recorder: Recorder) -> None:
    with local_span("job") as job:
        span = _below(job, "parent")
        child = Span("child", SpanKind.LOCAL).start_below(span)
        if ends_first:
            child.stop()
        assert span.segment is not None
        assert not span.segment.withdraw(span)
        child.stop()
        span.stop()
    assert sorted(recorder.only.names) == ["child", "job", "parent"]
