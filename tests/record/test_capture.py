"""Carrying the context by hand into threads that do not inherit it."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from swagent import (
    ContextSnapshot,
    capture,
    current_span,
    current_trace_id,
    entry_span,
    get_correlation,
    local_span,
    put_correlation,
)
from swagent.record.trace.model import RefKind

from .recorded import Recorder, in_a_thread, recording, work


def _under(snapshot: ContextSnapshot, *names: str) -> Callable[[], None]:
    def run() -> None:
        with snapshot:
            for name in names:
                work(name)
        assert current_span() is None

    return run


def test_every_span_of_a_bare_thread_under_a_snapshot_continues_the_trace(recorder: Recorder) -> None:
    with entry_span("request") as request, local_span("price"):
        in_a_thread(_under(capture(), "first", "second", "third"))
    for name in ("first", "second", "third"):
        reference = recorder.reference(name)
        assert (reference.kind, reference.segment_id, reference.span_id) == (
            RefKind.CROSS_THREAD, request.segment_id, 1)  # fmt: skip
        assert recorder.of(name).trace_id == request.trace_id


def test_a_snapshot_does_not_grow_old(recorder: Recorder) -> None:
    with entry_span("request") as request:
        snapshot = capture()
    request.end_time -= 3600
    in_a_thread(_under(snapshot, "late"))
    assert recorder.reference("late").segment_id == request.segment_id


def test_the_correlation_goes_along(recorder: Recorder) -> None:
    found: list[str | None] = []

    def look() -> None:
        with snapshot, local_span("query"):
            found.append(get_correlation("user"))

    with entry_span("request"):
        put_correlation("user", "ann")
        snapshot = capture()
        in_a_thread(look)
    assert found == ["ann"]


@pytest.mark.anyio
async def test_several_tasks_may_be_under_one_snapshot_at_once(recorder: Recorder) -> None:
    async def query(name: str, is_inside: anyio.Event, may_leave: anyio.Event) -> None:
        with local_span(f"around {name}") as around:
            with snapshot:
                is_inside.set()
                await may_leave.wait()
                work(name)
            assert current_span() is around

    with entry_span("request"):
        snapshot = capture()
    first, second, end = anyio.Event(), anyio.Event(), anyio.Event()
    end.set()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(query, "first", first, second)
        await first.wait()
        tasks.start_soon(query, "second", second, end)
    assert len(recorder.of("first").trace_id) == 32
    assert recorder.of("first").trace_id == recorder.of("second").trace_id == recorder.of("request").trace_id


def test_a_snapshot_may_be_entered_again_and_within_another(recorder: Recorder) -> None:
    with entry_span("one"):
        one = capture()
    with entry_span("two"):
        two = capture()
    with one:
        with two:
            with one:
                work("inner")
            work("middle")
        work("outer")
    assert current_span() is None
    endpoints = [recorder.reference(name).endpoint for name in ("inner", "middle", "outer")]
    assert endpoints == ["one", "two", "one"]


def test_a_span_left_open_under_a_snapshot_does_not_outlast_it_as_current(recorder: Recorder) -> None:
    with local_span("around") as around:
        with entry_span("request"):
            snapshot = capture()
        with snapshot:
            left_open = local_span("left open").start()
        assert current_span() is around
    left_open.stop()


def test_an_exception_passes_through_a_snapshot(recorder: Recorder) -> None:
    with entry_span("request"):
        snapshot = capture()
    with pytest.raises(LookupError), snapshot:
        raise LookupError
    assert current_span() is None


def test_an_empty_snapshot_has_no_effect(recorder: Recorder) -> None:
    nothing = capture()
    with nothing:
        work("alone")
    with local_span("around"), nothing:
        work("inside")
    assert recorder.span("alone").refs == ()
    assert recorder.parent_of("inside") == "around"


def test_under_an_unrecorded_trace_a_captured_thread_records_nothing_either() -> None:
    with recording(is_ignored=lambda name: name == "health") as recorder, entry_span("health"):
        in_a_thread(_under(capture(), "query"))
    assert recorder.segments == []


def test_the_trace_id_is_known_under_a_snapshot(recorder: Recorder) -> None:
    with entry_span("request") as request:
        snapshot = capture()
    with snapshot:
        assert current_span() is None
        assert current_trace_id() == request.trace_id
        with local_span("query") as query:
            assert current_trace_id() == query.trace_id == recorder.of("request").trace_id
