"""The agent that a middleware starts: one for the application, for as long as it lives, and never against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import anyio
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette

from asgi import conversing
from asgi.calling import CONFIG, answers, body, call, http_scope, start
from asgi.conversing import StartError, lifespan, living
from kit.virtual_time import on_virtual_clocks, virtual_now
from swagent import Agent, current_trace_id
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Message, Receive, Scope, Send
from swagent.record.trace import tracer as tracers
from swagent.signals import Signal
from swagent.stop_budgets import REQUESTS_END
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio


@pytest.mark.gate
async def test_two_lifespans_one_after_the_other(collector: MemoryCollector) -> None:
    journal: list[str] = []
    middleware = SkyWalkingMiddleware(conversing.starlette(journal=journal), config=CONFIG)
    for turn in (1, 2):
        async with lifespan(middleware) as talk:
            await call(middleware, http_scope())
        assert talk.kinds == ["startup.complete", "shutdown.complete"]
        assert collector.count(Signal.SEGMENT) == turn
    assert journal == ["up", "up"]


async def test_between_and_after_lifespans_requests_are_served_untraced(collector: MemoryCollector) -> None:
    middleware = SkyWalkingMiddleware(answers(), config=CONFIG)
    async with lifespan(middleware):
        pass
    assert await call(middleware, http_scope()) == [start(), body(b"ok")]
    assert collector.count(Signal.SEGMENT) == 0


@pytest.mark.parametrize("make", [Starlette, FastAPI])
async def test_added_as_a_middleware(make: Callable[[], Starlette], collector: MemoryCollector) -> None:
    seen: list[str] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(current_trace_id())
        await answers()(scope, receive, send)

    app = make()
    app.mount("/", look)
    app.add_middleware(SkyWalkingMiddleware, config=CONFIG)
    async with lifespan(app):
        await call(app, http_scope())
    assert collector.count(Signal.SEGMENT) == 1
    assert seen != [""]


async def test_twice_around_one_application_there_is_one_agent(collector: MemoryCollector) -> None:
    inner = SkyWalkingMiddleware(conversing.starlette(), config=CONFIG)
    outer = SkyWalkingMiddleware(inner, config=CONFIG)
    async with lifespan(outer) as talk:
        await call(outer, http_scope())
    assert talk.kinds == ["startup.complete", "shutdown.complete"]
    assert collector.count(Signal.SEGMENT) == 1
    assert len(collector.properties) == 1, "a second agent would report a second instance"


@pytest.mark.parametrize("is_nested", [False, True])
async def test_an_agent_of_yours_is_neither_started_nor_stopped(is_nested: bool, collector: MemoryCollector) -> None:
    own = MemoryCollector()
    app = conversing.starlette()
    async with Agent(CONFIG, transport=own.transport) as agent:
        middleware = SkyWalkingMiddleware(SkyWalkingMiddleware(app) if is_nested else app, agent=agent)
        async with lifespan(middleware) as talk:
            assert talk.kinds == ["startup.complete"]
        await call(middleware, http_scope())
        assert await agent.flush()
        assert own.count(Signal.SEGMENT) == 1
    assert not collector.properties, "no other one was started"


async def test_a_start_that_fails_leaves_no_agent(collector: MemoryCollector) -> None:
    middleware = SkyWalkingMiddleware(conversing.starlette(fails_at="startup"), config=CONFIG)
    async with lifespan(middleware) as talk:
        assert talk.kinds == ["startup.failed"]
        assert "no database" in talk.said[0]["message"]
        assert tracers.running() is None
    assert isinstance(talk.error, StartError)


async def test_a_lifespan_that_is_cancelled_flushes_and_lets_the_cancellation_pass(collector: MemoryCollector) -> None:
    middleware = SkyWalkingMiddleware(conversing.starlette(), config=CONFIG)
    is_up = anyio.Event()

    async def receive() -> Message:
        if is_up.is_set():
            await anyio.sleep_forever()
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        is_up.set()

    async with anyio.create_task_group() as group:
        group.start_soon(middleware, {"type": "lifespan", "state": {}}, receive, send)
        await is_up.wait()
        await call(middleware, http_scope())
        group.cancel_scope.cancel()
    assert collector.count(Signal.SEGMENT) == 1


async def waits_for_ever(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await send(start())
        try:
            await anyio.sleep_forever()
        finally:
            # rolls its transaction back
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)


async def test_cut_off_at_shutdown(collector: MemoryCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    """uvicorn cancels its last requests and says shutdown in the same breath."""
    # a busy machine may take longer for the request's end than is allowed for it
    monkeypatch.setattr("swagent.stop_budgets.REQUESTS_END", 5.0)
    middleware = SkyWalkingMiddleware(living(waits_for_ever), config=CONFIG)
    request = anyio.CancelScope()

    async def serve_one() -> None:
        with request:
            await call(middleware, http_scope())

    async with anyio.create_task_group() as requests, lifespan(middleware):
        requests.start_soon(serve_one)
        await anyio.wait_all_tasks_blocked()
        request.cancel()
    assert collector.count(Signal.SEGMENT) == 1


@on_virtual_clocks
async def test_a_request_that_does_not_end_holds_the_shutdown_up_but_little(collector: MemoryCollector) -> None:
    middleware = SkyWalkingMiddleware(living(waits_for_ever), config=dataclasses.replace(CONFIG, loop_block_limit=0))
    async with anyio.create_task_group() as requests:
        async with lifespan(middleware) as talk:
            requests.start_soon(call, middleware, http_scope())
            await anyio.wait_all_tasks_blocked()
            began = virtual_now()
        assert virtual_now() - began == pytest.approx(REQUESTS_END)
        assert talk.kinds == ["startup.complete", "shutdown.complete"]
        requests.cancel_scope.cancel()
    assert collector.count(Signal.SEGMENT) == 0


async def test_a_middleware_inside_another_one_says_which_of_its_settings_do_not_count(
    collector: MemoryCollector, caplog: pytest.LogCaptureFixture
) -> None:
    app = Starlette()
    app.add_middleware(SkyWalkingMiddleware, config=dataclasses.replace(CONFIG, service="cart"))
    async with lifespan(SkyWalkingMiddleware(app, config=CONFIG)):
        pass
    [line] = [record.getMessage() for record in caplog.records if "do not count" in record.getMessage()]
    assert line.endswith("these settings do not count: service")
