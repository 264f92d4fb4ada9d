"""A server that sends no lifespan: the first request starts the process's agent thread."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Iterator

import anyio
import pytest
from starlette.applications import Starlette

import swagent
from asgi import conversing
from asgi.calling import answers, body, call, http_scope, start
from swagent import Agent, Config, system_thread
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi import middleware as asgi_module
from swagent.hosting import agent_thread
from swagent.ledger import Statistics
from swagent.signals import Signal
from swagent.system_thread import SystemThread
from swagent.testing import MemoryCollector

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer versions of Starlette would rather have another HTTP client
    from starlette.testclient import TestClient

pytestmark = pytest.mark.anyio

CONFIG = Config(service="shop", backend="asyncio")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryCollector]:
    """Where agents report to, in whatever thread they live; the agent thread is stopped behind the test."""
    collector = MemoryCollector()
    agent = functools.partial(Agent, transport=collector.transport)
    monkeypatch.setattr(agent_thread, "Agent", agent)
    monkeypatch.setattr(asgi_module, "Agent", agent)
    yield collector
    swagent.stop()


def confirmed(statistics: Statistics | None) -> int:
    assert statistics is not None
    return statistics.segment.confirmed


async def test_the_first_request_starts_the_agent_thread(collector: MemoryCollector) -> None:
    middleware = SkyWalkingMiddleware(answers(), config=CONFIG)
    assert agent_thread.running() is None
    for _ in range(3):
        assert await call(middleware, http_scope()) == [start(), body(b"ok")]
    assert [thread.name for thread in system_thread.alive()].count("swagent") == 1
    assert confirmed(swagent.stop()) == collector.count(Signal.SEGMENT) == 3


async def test_many_first_requests_of_several_applications_start_one(collector: MemoryCollector) -> None:
    one, other = (SkyWalkingMiddleware(answers(), config=CONFIG) for _ in range(2))
    twice = SkyWalkingMiddleware(other, config=CONFIG)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            for app in (one, other, twice):
                group.start_soon(call, app, http_scope())
    assert confirmed(swagent.stop()) == 30, "one span of each"


async def test_one_that_runs_already_is_taken(collector: MemoryCollector) -> None:
    agent = swagent.start(CONFIG)
    await call(SkyWalkingMiddleware(answers()), http_scope())
    assert confirmed(swagent.stop()) == 1
    assert agent.statistics().complete


async def test_a_wrong_setting_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SW_AGENT_BACKEND", "twisted")
    middleware = SkyWalkingMiddleware(answers())
    for _ in range(3):
        assert await call(middleware, http_scope()) == [start(), body(b"ok")]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [
        "swagent is off: SW_AGENT_BACKEND='twisted' cannot be used; allowed: auto, asyncio, uvloop, trio"]  # fmt: skip
    assert not any(record.exc_info for record in caplog.records)


async def test_no_thread_costs_no_request(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def no_thread(_: SystemThread) -> None:
        raise RuntimeError("can't start new thread")

    middleware = SkyWalkingMiddleware(answers(), config=CONFIG)
    with monkeypatch.context() as patch:
        patch.setattr(SystemThread, "start", no_thread)
        assert await call(middleware, http_scope()) == [start(), body(b"ok")]
    assert await call(middleware, http_scope()) == [start(), body(b"ok")]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == ["swagent is off"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_test_client_used_twice(backend: str, collector: MemoryCollector) -> None:
    app = SkyWalkingMiddleware(conversing.starlette(), config=CONFIG)
    for turn in (1, 2):
        with TestClient(app, backend=backend) as client:  # type: ignore[arg-type]
            assert client.get("/").text == "ok"
        assert collector.count(Signal.SEGMENT) == turn
    assert agent_thread.running() is None


def test_a_test_client_without_and_then_with_a_lifespan(collector: MemoryCollector) -> None:
    app = Starlette()
    app.mount("/", answers())
    app.add_middleware(SkyWalkingMiddleware, config=CONFIG)
    assert TestClient(app).get("/").text == "ok"
    with TestClient(app) as client:
        assert client.get("/").text == "ok"
    assert confirmed(swagent.stop()) == 2
