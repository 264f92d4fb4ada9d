"""The event loops that begin while a span is active are counted, wherever the requests themselves are served."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import anyio
import anyio.to_thread
import pytest
import uvloop

from asgi.calling import call, http_scope, tags, traced
from record.recorded import Recorder, recording
from swagent import entry_span, local_span
from swagent.collector.store.trace_records import Span
from swagent.profile import loop_runs
from swagent.profile.loop_runs import LoopRuns

from .profiled import handling

OWNER: Any = getattr(asyncio, "Runner", asyncio.events)
NAME = "__enter__" if sys.version_info >= (3, 11) else "new_event_loop"
ORIGINAL = getattr(OWNER, NAME)


async def ask() -> None:
    with local_span("ask"):
        await asyncio.sleep(0)


async def ask_all(count: int) -> None:
    for _ in range(count):
        await ask()


def ask_each(count: int) -> None:
    for _ in range(count):
        asyncio.run(ask())


async def spans_of(work: Callable[[], object]) -> dict[str, Span]:
    """The spans of a request that does this in a worker thread, by their names."""

    async with traced(handling(lambda: anyio.to_thread.run_sync(work))) as shop:
        await call(shop.app, http_scope("/report"))
        [segment] = await shop.segments()
    return {each.operation: each for each in segment.spans}


@pytest.mark.anyio
async def test_a_request_that_runs_a_loop_for_each_item_has_their_number_and_the_place() -> None:
    span = (await spans_of(lambda: ask_each(3)))["GET:/report"]
    assert tags(span)["loop.runs"] == "3"
    [log] = [dict(each.data) for each in span.logs]
    assert log["event"] == "loop.runs"
    assert log["frame"].endswith(" ask_each")
    assert "in ask_each" in log["stack"]


@pytest.mark.anyio
async def test_one_loop_for_all_items_is_nothing_to_note() -> None:
    span = (await spans_of(lambda: asyncio.run(ask_all(3))))["GET:/report"]
    assert "loop.runs" not in tags(span)
    assert not span.logs


@pytest.mark.anyio
async def test_the_span_that_is_active_has_them() -> None:
    def work() -> None:
        with local_span("all prices"):
            ask_each(2)

    spans = await spans_of(work)
    assert tags(spans["all prices"])["loop.runs"] == "2"
    assert "loop.runs" not in tags(spans["GET:/report"])


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as fresh:
        yield fresh


@pytest.fixture
def counting() -> Iterator[LoopRuns]:
    counting = LoopRuns()
    counting.attach()
    yield counting
    counting.detach()
    assert getattr(OWNER, NAME) is ORIGINAL


def test_threads_that_work_for_one_request_count_together(counting: LoopRuns, recorder: Recorder) -> None:
    with entry_span("request"), ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(copy_context().run, ask_each, 3) for _ in range(2)]
        for job in jobs:
            job.result()
    assert ("loop.runs", "6") in recorder.span("request").tags


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(lambda: anyio.run(ask, backend="asyncio"), id="anyio"),
        pytest.param(
            lambda: uvloop.run(ask()), id="uvloop",
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="it makes its loop by itself there"),
        ),
    ],
)  # fmt: skip
def test_other_ways_to_run_a_loop_count_as_well(
    run: Callable[[], None], counting: LoopRuns, recorder: Recorder
) -> None:
    with entry_span("request"):
        run()
        run()
    assert ("loop.runs", "2") in recorder.span("request").tags


def test_loops_outside_of_any_span_are_those_of_none(counting: LoopRuns, recorder: Recorder) -> None:
    ask_each(3)
    assert [each.names for each in recorder.segments] == [["ask"]] * 3
    assert not any(span.tags for each in recorder.segments for span in each.spans)


def test_a_span_that_has_ended_is_left_as_it_was(counting: LoopRuns, recorder: Recorder) -> None:
    with entry_span("request"):
        context = copy_context()
    context.run(ask_each, 3)
    assert not recorder.span("request").tags


def test_what_fails_here_costs_no_loop(
    counting: LoopRuns, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise LookupError("no place")

    monkeypatch.setattr("swagent.profile.loop_runs.place_of", fail)
    with entry_span("request"):
        ask_each(3)
    assert [span.name for span in recorder.only.spans].count("ask") == 3
    assert "a new event loop could not be counted" in caplog.text


def test_a_loop_amid_the_counting_and_in_a_forked_child_is_not_held_up(counting: LoopRuns, recorder: Recorder) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with loop_runs._lock:
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with entry_span("request"):
        ask_each(2)
        loop_runs._forget_lock()
        ask_each(2)
    release.set()
    holder.join()
    tags = recorder.span("request").tags
    assert [value for name, value in tags if name == "loop.runs"] == ["2"]


def test_nothing_is_counted_after_the_end(counting: LoopRuns, recorder: Recorder) -> None:
    counting.detach()
    with entry_span("request"):
        ask_each(3)
    assert not recorder.span("request").tags
