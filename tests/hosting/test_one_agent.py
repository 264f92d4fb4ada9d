"""One agent a process: who comes second uses what runs, and does not end it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import swagent
from asgi.calling import answers, call, http_scope
from asgi.conversing import lifespan, starlette
from kit.stopwatch import Stopwatch
from runtime.worlds import agent_of, config, hanging, outcome, record
from swagent import Agent, Config, ConfigError, system_thread
from swagent.asgi import SkyWalkingMiddleware
from swagent.hosting import agent_thread
from swagent.ledger import Statistics
from swagent.signals import Signal
from swagent.testing import MemoryCollector

IGNORED = "these settings do not count"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryCollector]:
    """Where every agent reports to that is not made by the test; none is left behind."""
    collector = MemoryCollector()
    monkeypatch.setattr("swagent.agent.find_transport", lambda _: collector.transport)
    yield collector
    swagent.stop()
    assert not [each for each in system_thread.alive() if each.name == "swagent"]


def ignored(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [each.getMessage() for each in caplog.records if IGNORED in each.getMessage()]
    return [each.partition(f"{IGNORED}: ")[2] for each in found]


class TestStart:
    def test_the_second_start_returns_what_runs(
        self, collector: MemoryCollector, caplog: pytest.LogCaptureFixture
    ) -> None:
        settings = config()
        agent = swagent.start(settings)
        assert swagent.start(settings) is agent
        assert swagent.start() is agent, "nothing is asked for"
        assert ignored(caplog) == []
        assert [each.name for each in system_thread.alive()].count("swagent") == 1
        for _ in range(2):
            record()
            assert swagent.stop() is not None
            assert agent.is_running, "who started it stops it"
        swagent.stop()
        assert not agent.is_running
        assert outcome(agent) == {"confirmed": 2}
        assert len(collector.properties) == 1

    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    def test_it_may_do_so_in_a_loop(self, collector: MemoryCollector, backend: str) -> None:
        swagent.start(config())

        async def live() -> Statistics | None:
            swagent.start(config())
            record(3)
            return swagent.stop()

        statistics = anyio.run(live, backend=backend)
        assert statistics is not None
        assert statistics.segment.confirmed == 3

    def test_settings_that_differ_are_named_once(
        self, collector: MemoryCollector, caplog: pytest.LogCaptureFixture
    ) -> None:
        agent = swagent.start(config(authentication="sesame", allow_plaintext_token=True))
        other = config(service="other", span_limit=7, authentication="pigeon", allow_plaintext_token=True)
        assert swagent.start(other) is agent
        assert ignored(caplog) == ["service, authentication, span_limit"]
        assert "pigeon" not in caplog.text
        swagent.stop()

    def test_a_name_that_was_not_chosen_is_no_difference(
        self, collector: MemoryCollector, caplog: pytest.LogCaptureFixture
    ) -> None:
        swagent.start(Config(service="shop"))
        swagent.start(Config(service="shop"))
        swagent.stop()
        swagent.start(Config(service="shop", instance="chosen"))
        assert ignored(caplog) == ["instance"]
        swagent.stop()

    def test_a_setting_that_cannot_be_used_is_reported_as_ever(self, collector: MemoryCollector) -> None:
        swagent.start(config())
        with pytest.raises(ConfigError):
            swagent.start(config(span_limit=-1))

    def test_a_stop_whose_agent_ended_meanwhile_is_not_counted(self, collector: MemoryCollector) -> None:
        async def live() -> None:
            async with agent_of(collector):
                swagent.start()

        anyio.run(live)
        own = swagent.start(config())
        swagent.stop()
        assert not own.is_running

    # asyncio says so of the tasks of a loop that is closed under them
    @pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
    def test_one_whose_loop_was_closed_is_not_taken(self, collector: MemoryCollector) -> None:
        lost = agent_of(collector)
        loop = asyncio.SelectorEventLoop()
        loop.run_until_complete(lost.start())
        loop.close()
        own = swagent.start(config())
        assert own is not lost
        record()
        swagent.stop()
        assert outcome(own) == {"confirmed": 1}
        assert asyncio.run(lost.stop()).balanced

    @pytest.mark.parametrize("library", ["asyncio", "trio"])
    def test_beside_an_agent_on_a_loop_of_the_hosts(self, collector: MemoryCollector, library: str) -> None:
        async def live() -> Agent:
            async with agent_of(collector) as agent:
                assert swagent.start() is agent
                record()
                swagent.stop()
                assert agent.is_running
            return agent

        assert outcome(anyio.run(live, backend=library)) == {"confirmed": 1}
        assert agent_thread.running() is None

    def test_many_threads_that_start_it_at_once_get_one(self, collector: MemoryCollector) -> None:
        agents: list[Agent] = []
        threads = [threading.Thread(target=lambda: agents.append(swagent.start(config()))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(map(id, agents))) == 1
        for _ in agents:
            swagent.stop()


@asynccontextmanager
async def agent_in_thread(**changes: Any) -> AsyncGenerator[Agent]:
    """As `swagent run` has it."""
    agent = swagent.start(config(**changes))
    try:
        yield agent
    finally:
        await anyio.to_thread.run_sync(swagent.stop)


@pytest.mark.anyio
class TestMiddleware:
    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    async def test_beside_the_agent_thread_it_uses_that_one_and_flushes_at_shutdown(
        self, collector: MemoryCollector, backend: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with agent_in_thread(backend=backend) as agent:
            middleware = SkyWalkingMiddleware(starlette())
            async with lifespan(middleware) as talk:
                await call(middleware, http_scope())
            assert talk.kinds == ["startup.complete", "shutdown.complete"]
            assert collector.count(Signal.SEGMENT) == 1, "before its last word is passed on"
            assert agent.is_running
            record()
        assert outcome(agent) == {"confirmed": 2}
        assert len(collector.properties) == 1, "a second agent would report a second instance"
        assert ignored(caplog) == []

    async def test_a_second_one_in_the_process_uses_the_agent_of_the_first(self, collector: MemoryCollector) -> None:
        first, second = (SkyWalkingMiddleware(starlette(), config=config()) for _ in range(2))
        async with lifespan(first):
            async with lifespan(second):
                await call(second, http_scope())
            assert collector.count(Signal.SEGMENT) == 1
            await call(first, http_scope())
        assert collector.count(Signal.SEGMENT) == 2
        assert len(collector.properties) == 1

    async def test_without_a_lifespan_it_uses_what_runs(self, collector: MemoryCollector) -> None:
        async with agent_of(collector) as agent:
            await call(SkyWalkingMiddleware(answers()), http_scope())
        assert outcome(agent) == {"confirmed": 1}
        assert agent_thread.running() is None

    @pytest.mark.gate
    async def test_a_shutdown_that_is_cancelled_is_held_up_for_a_second(self, collector: MemoryCollector) -> None:
        async with agent_in_thread(request_timeout=300.0, shutdown_timeout=0.1) as agent:
            await anyio.to_thread.run_sync(agent_thread_is_ready, collector)
            collector.behaviour = hanging
            async with anyio.create_task_group() as group, lifespan(SkyWalkingMiddleware(starlette())):
                record()
                watch = Stopwatch()
                group.cancel_scope.cancel()
            assert watch.own_seconds < 2.0
            assert agent.is_running

    async def test_its_flush_has_a_bound(self, collector: MemoryCollector) -> None:
        async with agent_in_thread(request_timeout=300.0, shutdown_timeout=0.2):
            await anyio.to_thread.run_sync(agent_thread_is_ready, collector)
            collector.behaviour = hanging
            async with lifespan(SkyWalkingMiddleware(starlette())):
                record()
                watch = Stopwatch()
            assert watch.seconds > 0.15
            assert watch.own_seconds < 2.0


def agent_thread_is_ready(collector: MemoryCollector) -> None:
    """Wait until it has reached its collector."""
    agent = agent_thread.running()
    assert agent is not None
    record()
    assert anyio.run(agent.flush, 5.0)
    assert collector.properties


@pytest.mark.anyio
class TestFlush:
    @pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
    async def test_from_any_loop(self, collector: MemoryCollector, backend: str) -> None:
        async with agent_in_thread(backend=backend, shutdown_timeout=0.1) as agent:
            record(3)
            assert await agent.flush()
            assert outcome(agent) == {"confirmed": 3}
            collector.behaviour = hanging
            record()
            watch = Stopwatch()
            assert not await agent.flush(0.1)
            assert watch.seconds > 0.05
            assert watch.own_seconds < 1.0

    async def test_of_one_that_has_stopped_on_another_loop(self, collector: MemoryCollector) -> None:
        async with agent_in_thread() as agent:
            record()
        assert await agent.flush()
