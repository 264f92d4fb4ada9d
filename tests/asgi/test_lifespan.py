"""The agent lives as long as the application's lifespan, and the conversation with the server stays what it was."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from fastapi import FastAPI

from asgi import conversing
from asgi.calling import CONFIG, answers, call, http_scope
from asgi.conversing import lifespan
from kit.virtual_time import on_virtual_clocks, virtual_now
from swagent import Agent, Config, ConfigError
from swagent.agent import running
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi import middleware as asgi_module
from swagent.asgi.lifespan import App, Message, Receive, Scope, Send
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio


TAKE_PART: dict[str, Callable[[], App]] = {
    "Starlette": conversing.starlette,
    "Starlette, fails to start": lambda: conversing.starlette(fails_at="startup"),
    "Starlette, fails to stop": lambda: conversing.starlette(fails_at="shutdown"),
    "FastAPI": FastAPI,
    "Quart": conversing.quart,
    "Quart, fails to start": lambda: conversing.quart(fails_at="startup"),
    "Quart, fails to stop": lambda: conversing.quart(fails_at="shutdown"),
    "listens on": conversing.listens_on,
    "fails and listens on": lambda: conversing.listens_on(fails=True),
    "fails and returns": conversing.returns_failed,
    "breaks while it serves": conversing.raises_between,
}


@pytest.mark.parametrize("name", TAKE_PART)
async def test_the_conversation(name: str, collector: MemoryCollector, anyio_backend_name: str) -> None:
    if name.startswith("Quart") and anyio_backend_name == "trio":
        pytest.skip("Quart runs on asyncio")
    make = TAKE_PART[name]
    async with lifespan(make()) as plain:
        pass
    async with lifespan(SkyWalkingMiddleware(make(), config=CONFIG)) as wrapped:
        pass
    assert wrapped.kinds == plain.kinds
    assert (type(wrapped.error), str(wrapped.error)) == (type(plain.error), str(plain.error))
    assert [str(message.get("message"))[-40:] for message in wrapped.said] == [
        str(message.get("message"))[-40:] for message in plain.said
    ]


async def raises(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] != "lifespan"
    await answers()(scope, receive, send)


async def raises_after_hearing(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        raise NotImplementedError
    await answers()(scope, receive, send)


async def returns(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "lifespan":
        await answers()(scope, receive, send)


async def returns_once_it_is_up(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
    else:
        await answers()(scope, receive, send)


@pytest.mark.parametrize("app", [raises, raises_after_hearing, returns])
def test_a_server_sees_that_there_is_no_lifespan_and_its_requests_are_recorded(
    app: App, collector: MemoryCollector, anyio_backend_name: str
) -> None:
    async def serve() -> None:
        async with lifespan(app) as plain:
            pass
        async with lifespan(middleware) as wrapped:
            await call(middleware, http_scope())
        assert wrapped.kinds == plain.kinds == []
        assert (type(wrapped.error), str(wrapped.error)) == (type(plain.error), str(plain.error))

    middleware = SkyWalkingMiddleware(app, config=CONFIG)
    for turn in (1, 2):
        anyio.run(serve, backend=anyio_backend_name)
        assert collector.count(Signal.SEGMENT) == turn, "delivered by the end of the loop"
    assert running() is None


async def test_an_application_that_returns_once_it_is_up_is_spoken_for(collector: MemoryCollector) -> None:
    middleware = SkyWalkingMiddleware(returns_once_it_is_up, config=CONFIG)
    async with lifespan(middleware) as talk:
        await call(middleware, http_scope())
    assert talk.kinds == ["startup.complete", "shutdown.complete"]
    assert talk.error is None
    assert collector.count(Signal.SEGMENT) == 1


async def test_the_last_word_comes_when_everything_is_delivered(collector: MemoryCollector) -> None:
    said: list[tuple[str, int]] = []
    middleware = SkyWalkingMiddleware(conversing.starlette(), config=CONFIG)

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            said.append((message["type"], collector.count(Signal.SEGMENT)))
            await send(message)

        await middleware(scope, receive, watch)

    async with lifespan(watched):
        for _ in range(10):
            await call(middleware, http_scope())
        assert collector.count(Signal.SEGMENT) == 0
    assert said == [("lifespan.startup.complete", 0), ("lifespan.shutdown.complete", 10)]


@on_virtual_clocks
async def test_a_collector_that_hangs_holds_the_last_word_up_until_the_deadline(collector: MemoryCollector) -> None:
    collector.behaviour = anyio.sleep_forever
    # without the thread that looks from outside whether the loop is held: it knows no virtual clock
    config = Config(service="shop", shutdown_timeout=3.0, request_timeout=300.0, loop_block_limit=0)
    middleware = SkyWalkingMiddleware(conversing.living(answers()), config=config)
    async with lifespan(middleware) as talk:
        await call(middleware, http_scope())
        began = virtual_now()
    assert talk.kinds == ["startup.complete", "shutdown.complete"]
    assert virtual_now() - began == pytest.approx(3.0)


async def test_the_applications_state_reaches_the_server(collector: MemoryCollector) -> None:
    state: dict[str, str] = {}
    middleware = SkyWalkingMiddleware(conversing.starlette(), config=CONFIG)

    async def server(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = state
        await middleware(scope, receive, send)

    async with lifespan(server):
        assert state == {"key": "value"}


async def test_a_setting_that_cannot_be_used_fails_the_start_by_a_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    journal: list[str] = []
    monkeypatch.setenv("SW_AGENT_SHUTDOWN_TIMEOUT", "soon")
    async with lifespan(SkyWalkingMiddleware(conversing.starlette(journal=journal))) as talk:
        pass
    assert talk.kinds == ["startup.failed"]
    assert talk.said[0]["message"] == (
        "SW_AGENT_SHUTDOWN_TIMEOUT='soon' cannot be used; allowed: a number from 0 to 300"
    )
    assert isinstance(talk.error, ConfigError)
    assert not journal, "the application was not started"


async def test_whatever_keeps_the_agent_from_starting_fails_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a bare exception the server would find no lifespan, and the application would never be started."""

    def no_agent(config: Config) -> Agent:
        raise OSError("no file descriptors left")

    monkeypatch.setattr(asgi_module, "Agent", no_agent)
    async with lifespan(SkyWalkingMiddleware(conversing.starlette(), config=CONFIG)) as talk:
        pass
    assert talk.said == [{"type": "lifespan.startup.failed", "message": "no file descriptors left"}]
    assert isinstance(talk.error, OSError)


async def test_a_config_error_of_the_applications_own_is_reported_as_theirs(collector: MemoryCollector) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.failed", "message": "misconfigured"})
        raise ConfigError("THEIRS", "x", "y")

    async with lifespan(SkyWalkingMiddleware(app, config=CONFIG)) as talk:
        pass
    assert talk.kinds == ["startup.complete", "shutdown.failed"]
    assert isinstance(talk.error, ConfigError)
