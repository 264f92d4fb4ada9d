"""Records of tasks, on every event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio

from record.recorded import recording
from swagent import current_trace_id, entry_span
from swagent.record.logs.origin import task_name
from swagent.record.suppression import suppress_instrumentation

from .captured import Captured

pytestmark = pytest.mark.anyio


async def test_a_record_names_its_task(captured: Captured, logger: logging.Logger) -> None:
    async def count() -> None:
        logger.warning("low")

    async with anyio.create_task_group() as group:
        group.start_soon(count, name="stock-counter")
    assert captured.tags["task"] == "stock-counter"


async def test_threads_of_a_loop_run_no_task(captured: Captured, logger: logging.Logger) -> None:
    await anyio.to_thread.run_sync(logger.warning, "low")
    assert "task" not in captured.tags


async def test_a_callback_of_the_loop_runs_no_task(captured: Captured, logger: logging.Logger) -> None:
    called = anyio.Event()

    def callback() -> None:
        logger.warning("low")
        called.set()

    if sniffio.current_async_library() == "trio":
        import trio

        trio.lowlevel.current_trio_token().run_sync_soon(callback)
    else:
        asyncio.get_running_loop().call_soon(callback)
    await called.wait()
    # trio runs callbacks in a task of its own
    assert "run_sync_soon" in captured.tags.get("task", "run_sync_soon")


async def test_records_of_concurrent_tasks_know_their_own_traces(captured: Captured, logger: logging.Logger) -> None:
    traces: dict[str, str] = {}

    async def serve(name: str) -> None:
        with entry_span(name):
            await anyio.lowlevel.checkpoint()
            traces[name] = current_trace_id()
            logger.warning(name)
            await anyio.to_thread.run_sync(logger.warning, name)

    with recording():
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(serve, f"/{number}")
    assert len(captured.entries) == 40
    assert {(entry.text, entry.endpoint, entry.trace_id, entry.span_id) for entry in captured.entries} == {
        (name, name, trace_id, 0) for name, trace_id in traces.items()
    }


async def test_records_of_tasks_that_the_agents_tasks_start_are_not_reported(
    captured: Captured, logger: logging.Logger
) -> None:
    async def nested() -> None:
        logger.warning("nested")
        await anyio.to_thread.run_sync(logger.warning, "in a thread")

    async def work() -> None:
        suppress_instrumentation.set(True)
        logger.warning("work")
        async with anyio.create_task_group() as group:
            group.start_soon(nested)

    async with anyio.create_task_group() as group:
        group.start_soon(work)
    logger.warning("the application")
    assert captured.texts == ["the application"]


async def test_logging_while_cancelled_keeps_the_cancellation(captured: Captured, logger: logging.Logger) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.sleep(1)
        finally:
            logger.warning("leaving")
    assert scope.cancelled_caught
    assert captured.texts == ["leaving"]


@pytest.mark.parametrize("name", ["asyncio", "trio"])
async def test_a_library_that_is_half_imported_or_absent_does_no_harm(
    name: str, anyio_backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = task_name()
    assert running
    # asyncio's own function has been found already; trio is looked for at each call
    expected = "" if name == anyio_backend[0] == "trio" else running
    monkeypatch.setitem(sys.modules, name, type(sys)(name))
    assert task_name() == expected
    monkeypatch.delitem(sys.modules, name)
    assert task_name() == expected


async def test_a_task_may_have_any_name(captured: Captured, logger: logging.Logger, anyio_backend: Any) -> None:
    if anyio_backend[0] == "trio":
        import trio

        trio.lowlevel.current_task().name = 7  # type: ignore[assignment]
    else:
        task = asyncio.current_task()
        assert task is not None
        task.set_name(7)
    logger.warning("low")
    assert captured.tags["task"] == "7"


async def test_records_of_a_thread_with_its_own_loop_name_its_task(captured: Captured, logger: logging.Logger) -> None:
    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.set_name("other loop")
        logger.warning("low")

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    await anyio.to_thread.run_sync(thread.join)
    assert captured.tags["task"] == "other loop"
