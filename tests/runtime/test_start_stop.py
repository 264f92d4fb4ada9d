"""Hosts that start an agent in one hook and stop it in another: in any task of one loop, and whatever becomes of it."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import anyio
import pytest
import trio
import uvloop
from trio.testing import MockClock

from kit.virtual_loop import VirtualLoop
from kit.virtual_time import virtual_now
from runtime.worlds import (
    ASYNCIO,
    ASYNCIO_IDS,
    FaultyTransport,
    agent_of,
    hanging,
    hung,
    no_task_is_left,
    outcome,
    raising,
    record,
    under_way,
)
from swagent import Agent, AgentStateError, ConfigError, local_span, system_thread
from swagent.config import Config
from swagent.config.options import Address
from swagent.profile.loop_watch import LoopWatch
from swagent.record.trace import tracer as tracers
from swagent.signals import Signal
from swagent.stop_budgets import CANCELLED_FLUSH
from swagent.testing import MemoryCollector

on_asyncio = pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)
on_trio = pytest.mark.parametrize("anyio_backend", [("trio", {})], ids=["trio"])


async def in_a_task(function: Callable[[], Awaitable[object]]) -> None:
    """As a host calls its hooks: each in a task that ends with it."""

    async def call() -> None:
        await function()

    async with anyio.create_task_group() as group:
        group.start_soon(call)


@pytest.mark.anyio
class TestInTasks:
    @pytest.mark.parametrize("as_block", [False, True], ids=["by hand", "as a block"])
    async def test_started_in_one_task_and_stopped_in_another(self, as_block: bool) -> None:
        agent = agent_of(MemoryCollector())
        with no_task_is_left():
            await in_a_task(agent.__aenter__ if as_block else agent.start)
            record(2)
            assert await agent.flush()
            record(1)
            await in_a_task((lambda: agent.__aexit__(None, None, None)) if as_block else agent.stop)
        record()
        assert outcome(agent) == {"confirmed": 3}
        assert tracers.running() is None

    async def test_the_application_need_not_keep_an_agent_that_was_started(self) -> None:
        collector = MemoryCollector()
        await agent_of(collector).start()
        gc.collect()
        record(512)
        with anyio.fail_after(3):
            await collector.wait_until(lambda it: it.count(Signal.SEGMENT) == 512)
        (agent,) = [each for each in gc.get_objects() if isinstance(each, Agent) and each._phase.value == "running"]
        await agent.stop()

    async def test_it_keeps_nothing_of_the_context_that_it_was_started_in(self) -> None:
        class Request:
            pass

        request = Request()
        gone = weakref.ref(request)
        variable: ContextVar[Request] = ContextVar("request")
        # what watches the loop keeps the task that held it for long, as any does on a busy machine
        agent = agent_of(MemoryCollector(), loop_block_limit=0)

        async def start(request: Request) -> None:
            variable.set(request)
            await agent.start()

        await in_a_task(partial(start, request))
        del request
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        assert gone() is None
        await agent.stop()


@pytest.mark.anyio
class TestAgain:
    async def test_starting_what_runs_does_nothing_and_each_stop_waits_for_the_one(self) -> None:
        collector = MemoryCollector()
        agent = agent_of(collector)
        assert list(await agent.stop()) == []

        async def stop() -> None:
            assert (await agent.stop()).segment.confirmed == 1

        for act in (agent.start, stop):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(act)
            if act is not stop:
                assert await agent.start() is agent
                record()
        assert outcome(agent) == {"confirmed": 1}
        assert len(collector.properties) == 1

    async def test_a_block_whose_agent_was_stopped_inside_is_left_quietly(self) -> None:
        async with agent_of(MemoryCollector()) as agent:
            record()
            await in_a_task(agent.stop)
        assert outcome(agent) == {"confirmed": 1}

    async def test_stopped_while_it_starts(self) -> None:
        agent = agent_of(MemoryCollector())
        found: list[str] = []

        async def start() -> None:
            try:
                await agent.start()
            except AgentStateError:
                found.append("stopped")

        with no_task_is_left():
            async with anyio.create_task_group() as group:
                group.start_soon(start)
                while agent._phase.value == "new":
                    await anyio.lowlevel.checkpoint()
                await agent.stop()
        # or it had just started
        assert found in ([], ["stopped"])
        assert tracers.running() is None
        with pytest.raises(AgentStateError):
            await agent.start()


class Choosy(FaultyTransport):
    def __init__(self, config: Config, address: Address) -> None:
        raise ConfigError("tls_ca", "/nowhere", "a file")


@pytest.mark.anyio
class TestTrouble:
    async def test_a_start_that_fails_leaves_nothing(self) -> None:
        agent = agent_of(Choosy)
        with no_task_is_left():
            for start in (agent.start, agent.__aenter__):
                with pytest.raises(ConfigError):
                    await start()
            assert tracers.running() is None
            assert list(await agent.stop()) == []

    async def test_a_loop_that_comes_amid_the_stop_is_no_hindrance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        collector = MemoryCollector()
        agent = await agent_of(collector).start()
        record(2)
        leave, left = LoopWatch.stop, list[LoopWatch]()

        async def begin_to_watch() -> None:
            agent._recording.watch_loop()

        def leave_and_begin(watch: LoopWatch) -> None:
            leave(watch)
            left.append(watch)
            other = threading.Thread(target=lambda: asyncio.run(begin_to_watch()))
            other.start()
            other.join()

        monkeypatch.setattr(LoopWatch, "stop", leave_and_begin)
        await agent.stop()
        assert len(left) == 1, "no watch begins then"
        assert outcome(agent) == {"confirmed": 2}

    async def test_on_another_loop_it_is_not_stopped_and_goes_on(self) -> None:
        agent = await agent_of(MemoryCollector()).start()

        def stop_elsewhere(backend: str) -> None:
            with pytest.raises(AgentStateError, match="another event loop"):
                anyio.run(agent.stop, backend=backend)

        for backend in ("asyncio", "trio"):
            await anyio.to_thread.run_sync(stop_elsewhere, backend)
        record()
        await agent.stop()
        assert outcome(agent) == {"confirmed": 1}

    @on_trio
    async def test_the_end_of_the_process_that_a_library_raises_comes_out_of_the_stop(self) -> None:
        collector = MemoryCollector()
        agent = await agent_of(collector).start()
        await collector.wait_until(lambda it: bool(it.properties))
        collector.behaviour = raising(SystemExit(3))
        record()
        with pytest.raises(BaseException) as caught:  # noqa: PT012
            await agent.flush()
            await agent.stop()
        assert caught.group_contains(SystemExit) if hasattr(caught.value, "exceptions") else caught.type is SystemExit
        assert agent.statistics().balanced

    @on_asyncio
    async def test_a_sweep_over_all_tasks_flushes_and_ends_it(self) -> None:
        """As programs do at their end that then stop their loop: a stop may never come."""
        agent = agent_of(MemoryCollector())
        before = asyncio.all_tasks()
        await agent.start()
        # asyncio says so of a task that is cancelled before its first turn
        await anyio.wait_all_tasks_blocked()
        record(3)
        swept_up = asyncio.all_tasks() - before
        for task in swept_up:
            task.cancel()
        with anyio.fail_after(3):
            await asyncio.wait(swept_up)
        assert outcome(agent) == {"confirmed": 3}
        assert (await agent.stop()).complete


@contextmanager
def loop_of(library: str) -> Iterator[asyncio.AbstractEventLoop]:
    loop = uvloop.new_event_loop() if library == "uvloop" else asyncio.SelectorEventLoop()
    try:
        yield loop
    finally:
        loop.close()


@pytest.mark.parametrize("library", ASYNCIO_IDS)
class TestRuns:
    """Several runs of one asyncio loop."""

    @pytest.mark.parametrize("as_block", [False, True], ids=["by hand", "as a block"])
    def test_started_in_one_run_and_stopped_in_another(self, library: str, as_block: bool) -> None:
        agent = agent_of(MemoryCollector())
        with loop_of(library) as loop:
            loop.run_until_complete(agent.__aenter__() if as_block else agent.start())
            record()
            loop.run_until_complete(asyncio.sleep(0))
            record()
            loop.run_until_complete(agent.__aexit__(None, None, None) if as_block else agent.stop())
            assert not asyncio.all_tasks(loop)
        assert outcome(agent) == {"confirmed": 2}

    # asyncio says so of the tasks of a loop that is closed under them
    @pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
    def test_after_its_loop_was_closed_all_that_is_left_is_counted(
        self, library: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        collector = MemoryCollector()
        agent = agent_of(collector)
        with loop_of(library) as loop:
            loop.run_until_complete(agent.start())
            loop.run_until_complete(collector.wait_until(lambda it: bool(it.properties)))
            collector.behaviour = hanging
            record(512)
            flushing = loop.create_task(agent.flush(0.2))
            loop.run_until_complete(flushing)
            loop.run_until_complete(under_way(agent, 512))
            record(3)
        statistics = asyncio.run(agent.stop())
        assert statistics == agent.statistics()
        assert outcome(agent) == {"dropped ambiguous": 512, "dropped shutdown": 3}
        assert tracers.running() is None
        assert asyncio.run(agent.stop()) == statistics
        assert [each.levelno for each in caplog.records if "stopped" in each.getMessage()] == [logging.WARNING]


async def start_and_forget(agent: Agent) -> None:
    await agent.start()
    with local_span("work"):
        pass


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_run_that_ends_without_a_stop_flushes_and_says_so(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    agent = agent_of(MemoryCollector())
    anyio.run(start_and_forget, agent, backend=backend)
    assert outcome(agent) == {"confirmed": 1}
    assert [each.levelno for each in caplog.records if "stopped" in each.getMessage()] == [logging.INFO]
    assert anyio.run(agent.stop, backend=backend).complete, "and stopping it once more does nothing"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_run_that_ends_beside_a_hanging_peer_is_held_up_for_a_second(backend: str) -> None:
    agents: list[Agent] = []
    if backend == "asyncio":
        loop = VirtualLoop()
        options: dict[str, Any] = {"loop_factory": lambda: loop}
        now = loop.time
    else:
        clock = MockClock(autojump_threshold=0)
        options = {"clock": clock}
        now = clock.current_time
    began = 0.0

    async def main() -> None:
        agents.append(await hung())
        nonlocal began
        began = virtual_now()

    anyio.run(main, backend=backend, backend_options=options)
    assert now() - began == CANCELLED_FLUSH
    assert outcome(agents[0]) == {"dropped ambiguous": 2}
    assert not system_thread.alive()


def test_trio_in_guest_mode_has_it_too() -> None:
    """trio inside another loop: its run ends when that loop has let it."""
    agent = agent_of(MemoryCollector())
    over: list[Any] = []

    async def main() -> None:
        ended = asyncio.get_running_loop().create_future()

        async def guest() -> None:
            await agent.start()
            record()
            await agent.stop()

        trio.lowlevel.start_guest_run(
            guest,
            run_sync_soon_threadsafe=asyncio.get_running_loop().call_soon_threadsafe,
            done_callback=ended.set_result,
        )
        over.append(await ended)

    asyncio.run(main())
    over[0].unwrap()
    assert outcome(agent) == {"confirmed": 1}
