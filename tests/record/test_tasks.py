"""The active span in child tasks and worker threads, on every event loop."""

from __future__ import annotations

import asyncio

import anyio
import pytest
import sniffio
from anyio import to_thread
from anyio.lowlevel import checkpoint

from swagent import current_span, current_trace_id, entry_span, local_span

from .recorded import Recorder, work

pytestmark = pytest.mark.anyio


async def _work(name: str) -> None:
    with local_span(name) as span:
        await checkpoint()
        assert current_span() is span


async def test_child_tasks_join_the_segment_of_their_parent(recorder: Recorder) -> None:
    with entry_span("request"):
        async with anyio.create_task_group() as children:
            for name in ("first", "second"):
                children.start_soon(_work, name)
        if sniffio.current_async_library() == "asyncio":
            await asyncio.gather(_work("third"), _work("fourth"))
    assert {recorder.parent_of(name) for name in recorder.only.names} == {"request", None}
    assert {"request", "first", "second"} <= set(recorder.only.names)


async def test_requests_served_at_the_same_time_are_traces_of_their_own(recorder: Recorder) -> None:
    async def serve(number: int) -> None:
        with entry_span(f"request {number}") as request:
            await _work(f"work {number}")
            assert current_trace_id() == request.trace_id

    async with anyio.create_task_group() as server:
        for number in range(20):
            server.start_soon(serve, number)
    assert sorted(recorder.names) == sorted([f"request {number}", f"work {number}"] for number in range(20))
    assert len({segment.trace_id for segment in recorder.segments}) == 20


async def test_a_worker_thread_joins_the_segment_and_reaches_the_loop_within_it(recorder: Recorder) -> None:
    def query() -> None:
        with local_span("query"):
            anyio.from_thread.run(_work, "callback")

    with entry_span("request"):
        await to_thread.run_sync(query)
    await to_thread.run_sync(work, "next")
    assert recorder.names == [["request", "query", "callback"], ["next"]]
    assert recorder.parent_of("callback") == "query"
