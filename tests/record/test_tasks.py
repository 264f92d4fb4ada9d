"""The active span in child tasks and worker threads, on every event loop."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec

import anyio
import pytest
from anyio import to_thread
from anyio.lowlevel import checkpoint

from swagent import current_span, current_trace_id, entry_span, local_span

from .recorded import Recorder

pytestmark = pytest.mark.anyio


async def _work(name: str) -> None:
    with local_span(name) as span:
        await checkpoint()
        assert current_span() is span


async def test_child_tasks_join_the_segment_of_their_parent(recorder: Recorder) -> None:
    with entry_span("request"):
        async with anyio.create_task_group() as children:
            for name in ("first", "second", "third"):
                children.start_soon(_work, name)
    assert sorted(recorder.only.names) == ["first", "request", "second", "third"]
    assert {recorder.parent_of(name) for name in ("first", "second", "third")} == {"request"}


async def test_tasks_side_by_side_do_not_see_each_others_spans(recorder: Recorder) -> None:
    is_open, is_seen = anyio.Event(), anyio.Event()

    async def open_one() -> None:
        with local_span("one"):
            is_open.set()
            await is_seen.wait()

    async with anyio.create_task_group() as children:
        children.start_soon(open_one)
        await is_open.wait()
        assert current_span() is None
        children.start_soon(_work, "two")
        await checkpoint()
        is_seen.set()
    assert sorted(recorder.names) == [["one"], ["two"]]


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


async def test_a_segment_waits_for_a_child_task_that_outlasts_the_request(recorder: Recorder) -> None:
    is_open, may_end = anyio.Event(), anyio.Event()

    async def outlast() -> None:
        with local_span("late"):
            is_open.set()
            await may_end.wait()

    async with anyio.create_task_group() as children:
        with entry_span("request"):
            children.start_soon(outlast)
            await is_open.wait()
        assert recorder.segments == []
        may_end.set()
    assert recorder.only.names == ["request", "late"]


async def test_a_span_may_end_in_another_task(recorder: Recorder) -> None:
    async def end() -> None:
        request.stop()

    request = entry_span("request").start()
    async with anyio.create_task_group() as children:
        children.start_soon(end)
    assert recorder.only.names == ["request"]
    assert current_span() is None


async def test_a_worker_thread_joins_the_segment(recorder: Recorder) -> None:
    def query() -> None:
        with local_span("query"):
            pass

    with entry_span("request"):
        await to_thread.run_sync(query)
    await to_thread.run_sync(query)
    assert recorder.names == [["request", "query"], ["query"]]


async def test_the_loop_is_reached_back_from_a_worker_thread_within_the_span(recorder: Recorder) -> None:
    def query() -> None:
        with local_span("query"):
            anyio.from_thread.run(_work, "callback")

    with entry_span("request"):
        await to_thread.run_sync(query)
    assert recorder.parent_of("callback") == "query"


_NO_UVLOOP = pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")


@pytest.mark.parametrize(
    "anyio_backend",
    [
        pytest.param(("asyncio", {"debug": True}), id="asyncio"),
        pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop", marks=_NO_UVLOOP),
    ],
)
class TestOnAsyncioItself:
    async def test_gathered_coroutines_join_the_segment(self, recorder: Recorder) -> None:
        with entry_span("request"):
            await asyncio.gather(_work("first"), _work("second"))
        assert recorder.only.names == ["request", "first", "second"]
        assert recorder.parent_of("second") == "request"

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no TaskGroup")
    async def test_tasks_of_a_task_group_join_the_segment(self, recorder: Recorder) -> None:
        with entry_span("request"):
            async with asyncio.TaskGroup() as children:
                children.create_task(_work("first"))
                children.create_task(_work("second"))
        assert recorder.only.names == ["request", "first", "second"]
        assert recorder.parent_of("second") == "request"

    async def test_a_thread_of_asyncio_joins_the_segment(self, recorder: Recorder) -> None:
        with entry_span("request") as request:
            assert await asyncio.to_thread(current_trace_id) == request.trace_id

    async def test_a_cancelled_task_ends_its_span_without_failure(self, recorder: Recorder) -> None:
        is_open = asyncio.Event()

        async def hang() -> None:
            with local_span("hang"):
                is_open.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(hang())
        await is_open.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not recorder.span("hang").failed


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_tasks_of_a_nursery_join_the_segment(recorder: Recorder) -> None:
    trio = pytest.importorskip("trio")
    with entry_span("request"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_work, "first")
            nursery.start_soon(_work, "second")
    assert sorted(recorder.only.names) == ["first", "request", "second"]
    assert recorder.parent_of("second") == "request"


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_thread_of_trio_joins_the_segment_there_and_back(recorder: Recorder) -> None:
    trio = pytest.importorskip("trio")

    def query() -> None:
        with local_span("query"):
            trio.from_thread.run(_work, "callback")

    with entry_span("request"):
        await trio.to_thread.run_sync(query)
    assert recorder.only.names == ["request", "query", "callback"]
    assert recorder.parent_of("callback") == "query"
