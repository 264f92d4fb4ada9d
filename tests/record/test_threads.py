"""The context goes into threads and thread pools by itself, where that is asked for."""

from __future__ import annotations

import asyncio
import gc
import math
import multiprocessing
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

import anyio
import pytest
import uvloop

from runtime.worlds import config
from swagent import Agent, current_trace_id, entry_span, local_span
from swagent.record import threads
from swagent.record.threads import ThreadPropagation
from swagent.record.trace.model import RefKind
from swagent.signals import Signal
from swagent.testing import MemoryCollector

from .recorded import Recorder, in_a_thread

FUNCTIONS = (threading.Thread.start, ThreadPoolExecutor.submit)


def in_place() -> tuple[Any, Any]:
    return threading.Thread.start, ThreadPoolExecutor.submit


@pytest.fixture
def propagation() -> Iterator[ThreadPropagation]:
    propagation = ThreadPropagation()
    propagation.attach()
    yield propagation
    propagation.detach()
    assert in_place() == FUNCTIONS


def work(name: str = "work") -> str:
    with local_span(name):
        return current_trace_id()


class Worker(threading.Thread):
    """A thread with a `run` of its own."""

    def run(self) -> None:
        work()


def run(thread: threading.Thread) -> None:
    thread.start()
    thread.join()
    assert "run" not in vars(thread), "it is its class's again"


def in_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def in_an_executor(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> Callable[[], None]:
    def run() -> None:
        loop = make_loop()

        async def live() -> None:
            await loop.run_in_executor(None, work)

        try:
            loop.run_until_complete(live())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    return run


WAYS: dict[str, Callable[[], object]] = {
    "thread": lambda: run(threading.Thread(target=work)),
    "subclass": lambda: run(Worker()),
    "timer": lambda: run(threading.Timer(0.001, work)),
    "submit": in_a_pool,
    "map": lambda: list(ThreadPoolExecutor(1).map(work, ["work"])),
    "run_in_executor": in_an_executor(asyncio.SelectorEventLoop),
    "run_in_executor of uvloop": in_an_executor(uvloop.new_event_loop),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@every_way
def test_a_span_refers_back(way: Callable[[], object], propagation: ThreadPropagation, recorder: Recorder) -> None:
    way()
    with entry_span("request") as request, local_span("price"):
        way()
    propagation.detach()
    assert in_place() == FUNCTIONS
    with entry_span("after it was taken back"):
        way()
    outside, inside, after = (segment for segment in recorder.segments if segment.names == ["work"])
    assert outside.spans[0].refs == after.spans[0].refs == ()
    (reference,) = inside.spans[0].refs
    assert (reference.kind, reference.segment_id, reference.span_id) == (RefKind.CROSS_THREAD, request.segment_id, 1)
    assert inside.trace_id == request.trace_id


def test_a_pools_thread_is_not_of_the_request_that_came_first(propagation: object, recorder: Recorder) -> None:
    with ThreadPoolExecutor(1) as pool:
        with entry_span("request"):
            pool.submit(work, "first").result()
        pool.submit(work, "second").result()
    assert recorder.span("first").refs
    assert recorder.span("second").refs == ()


@pytest.mark.parametrize("is_on", [True, False], ids=["carried", "not carried"])
def test_a_pools_thread_that_inherits_a_context_forgets_the_request(
    is_on: bool, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `-X thread_inherit_context=1` on Python 3.14."""
    start = threading.Thread.start

    def inheriting(self: threading.Thread) -> None:
        vars(self)["run"] = partial(copy_context().run, self.run)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", inheriting)
    monkeypatch.setattr(threads, "_INHERITS", True)
    propagation = ThreadPropagation(is_on)
    propagation.attach()
    try:
        with ThreadPoolExecutor(1) as pool:
            with entry_span("request") as request:
                pool.submit(work, "first").result()
                thread = threading.Thread(target=work, args=("own",))
                thread.start()
                thread.join()
            pool.submit(work, "second").result()
    finally:
        propagation.detach()
    assert [each.segment_id for each in recorder.span("first").refs] == ([request.segment_id] if is_on else [])
    assert recorder.span("second").refs == ()
    # which begins for the request, and inherits
    assert recorder.of("own").trace_id == request.trace_id


@pytest.mark.skipif(sys.version_info < (3, 14), reason="has no pool of interpreters")
def test_a_job_for_another_interpreter_goes_there_as_it_is(propagation: ThreadPropagation, recorder: Recorder) -> None:
    from concurrent.futures import InterpreterPoolExecutor  # type: ignore[attr-defined] # noqa: PLC0415, RUF100

    with InterpreterPoolExecutor(1) as pool, entry_span("request"):
        assert pool.submit(math.factorial, 5).result() == 120
        with pytest.raises(ValueError, match="factorial"):
            pool.submit(math.factorial, -1).result()
    assert len([each for segment in recorder.segments for each in segment.spans if "Interpreter" in each.name]) == 2


INHERITED = """
import threading
from concurrent.futures import ThreadPoolExecutor

import swagent.agent
from swagent import Config, current_trace_id, entry_span
from swagent.testing import MemoryCollector

swagent.agent.find_transport = lambda _: MemoryCollector().transport
swagent.start(Config(service="shop", propagate_threads={carries}))
with ThreadPoolExecutor(1) as pool:
    with entry_span("first") as first:
        seen = [pool.submit(current_trace_id).result()]
        trace = first.trace_id
    with entry_span("second") as second:
        seen.append(pool.submit(current_trace_id).result())
        traces = [trace, second.trace_id]
    seen.append(pool.submit(current_trace_id).result())
swagent.stop()
assert seen == ([*traces, ""] if {carries} else ["", "", ""]), (seen, traces)
"""


@pytest.mark.gate
@pytest.mark.skipif(sys.version_info < (3, 14), reason="threads inherit nothing")
@pytest.mark.parametrize("carries", [True, False])
@pytest.mark.parametrize("flag", [0, 1])
def test_a_pool_has_the_right_trace_or_none(flag: int, carries: bool) -> None:
    program = INHERITED.format(carries=carries)
    subprocess.run([sys.executable, "-X", f"thread_inherit_context={flag}", "-c", program], timeout=30, check=True)


def test_a_context_that_asyncio_carries_by_itself_stays_as_it_is(propagation: object, recorder: Recorder) -> None:
    async def live() -> None:
        with entry_span("request"):
            await asyncio.to_thread(work)

    asyncio.run(live())
    assert recorder.only.names == ["request", "work"]


def test_arguments_results_and_errors_pass(propagation: object, recorder: Recorder) -> None:
    def divide(left: int, *, right: int) -> float:
        return left / right

    with entry_span("request"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(divide, 1, right=2).result() == 0.5
        assert isinstance(pool.submit(divide, 1, right=0).exception(), ZeroDivisionError)
        with pytest.raises(TypeError):
            pool.submit()  # type: ignore[call-arg]
        pool.shutdown()
        with pytest.raises(RuntimeError, match="after shutdown"):
            pool.submit(divide, 1, right=2)


def test_arguments_of_any_name_pass(propagation: object, recorder: Recorder) -> None:
    class Named:
        def go(self, function: str, *, snapshot: int) -> tuple[object, str, int]:
            return self, function, snapshot

    named = Named()
    with local_span("job"), ThreadPoolExecutor(1) as pool:
        # a method, taken from its class
        assert pool.submit(Named.go, self=named, function="a", snapshot=1).result() == (named, "a", 1)


def test_a_process_pool_gets_what_it_can_pickle(propagation: object, recorder: Recorder) -> None:
    # not by fork, which this process's threads would not survive
    with entry_span("request"), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(len, "four").result() == 4


def test_a_thread_that_cannot_be_started_is_as_it_was(propagation: ThreadPropagation, recorder: Recorder) -> None:
    thread = threading.Thread(target=work)
    with entry_span("request"):
        run(thread)
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()
    assert "run" not in vars(thread)


def _wrap_run(thread: threading.Thread) -> None:
    """As Sentry does: it calls the function of the method that it finds, with the thread."""
    found: Any = getattr(thread.run, "__func__", thread.run)
    vars(thread)["run"] = lambda: found(threading.current_thread())


@pytest.mark.parametrize("is_first", [True, False])
def test_others_may_give_the_thread_a_run_of_its_own(
    is_first: bool, propagation: ThreadPropagation, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def patch() -> None:
        start = threading.Thread.start

        def wrapped(self: threading.Thread) -> None:
            _wrap_run(self)
            start(self)

        monkeypatch.setattr(threading.Thread, "start", wrapped)

    if is_first:
        propagation.detach()
        patch()
        propagation.attach()
    else:
        patch()
    thread = threading.Thread(target=work)
    with entry_span("request") as request:
        thread.start()
        thread.join()
    assert recorder.reference("work").segment_id == request.segment_id


def test_nothing_of_it_holds_the_thread(propagation: object, recorder: Recorder) -> None:
    with entry_span("request"):
        thread = Worker()
        gone = weakref.ref(thread)
        run(thread)
        gc.disable()
        try:
            del thread
            assert gone() is None
        finally:
            gc.enable()


def test_a_job_from_before_the_end_has_its_context(propagation: ThreadPropagation, recorder: Recorder) -> None:
    may_run = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[bool] = pool.submit(may_run.wait)
        with entry_span("request") as request:
            submitted = pool.submit(work)
        propagation.detach()
        may_run.set()
        assert submitted.result() == request.trace_id
        assert waiting.result()


@pytest.mark.anyio
@pytest.mark.parametrize("is_on", [False, True], ids=["off", "on"])
async def test_an_agent_does_it_where_that_is_set_and_takes_it_back(is_on: bool) -> None:
    collector = MemoryCollector()
    settings = config() if not is_on else config(propagate_threads=True)
    traces: list[str] = []
    async with Agent(settings, transport=collector.transport):
        assert (in_place() == FUNCTIONS) != is_on
        with entry_span("request") as request:
            in_a_thread(lambda: traces.append(work()))
    assert in_place() == FUNCTIONS
    assert (traces == [request.trace_id]) == is_on
    assert collector.count(Signal.SEGMENT) == 2


@pytest.mark.anyio
async def test_two_agents_carry_it_once() -> None:
    collectors = [MemoryCollector(), MemoryCollector()]
    settings = config(propagate_threads=True)
    async with Agent(settings, transport=collectors[0].transport):
        async with Agent(settings, transport=collectors[1].transport):
            with entry_span("request") as request:
                traces: list[str] = []
                in_a_thread(lambda: traces.append(work()))
                await anyio.to_thread.run_sync(in_a_pool)
        assert in_place() != FUNCTIONS
    assert in_place() == FUNCTIONS
    assert traces == [request.trace_id]
    assert collectors[1].count(Signal.SEGMENT) == 3
