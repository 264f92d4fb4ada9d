"""`gc_freeze`: objects that are alive when the application has started are left out of every later collection."""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import replace

import pytest

from asgi import conversing
from asgi.calling import CONFIG
from asgi.conversing import lifespan
from swagent import Config
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import App, Message
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio
FREEZING = replace(CONFIG, gc_freeze=True)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the garbage collector, and in between the messages that the server gets."""
    calls: list[str] = []
    monkeypatch.setattr("swagent.asgi.lifespan.gc.collect", lambda: calls.append("collect"))
    monkeypatch.setattr("swagent.asgi.lifespan.gc.freeze", lambda: calls.append("freeze"))
    return calls


async def live(app: App, config: Config, calls: list[str]) -> None:
    """One lifespan, with the messages that the server gets."""
    to_say = ["lifespan.startup", "lifespan.shutdown"]

    async def receive() -> Message:
        return {"type": to_say.pop(0)}

    async def send(message: Message) -> None:
        calls.append(message["type"].removeprefix("lifespan."))

    with suppress(conversing.StartError):
        await SkyWalkingMiddleware(app, config=config)({"type": "lifespan", "state": {}}, receive, send)


async def test_it_is_off(collector: MemoryCollector, calls: list[str]) -> None:
    assert not Config().gc_freeze
    await live(conversing.starlette(), CONFIG, calls)
    assert calls == ["startup.complete", "shutdown.complete"]


@pytest.mark.parametrize("app", [conversing.starlette(), conversing.listens_on()], ids=["starlette", "by hand"])
async def test_frozen_once_before_the_answer(app: App, collector: MemoryCollector, calls: list[str]) -> None:
    await live(app, FREEZING, calls)
    assert calls == ["collect", "freeze", "startup.complete", "shutdown.complete"]


async def test_not_where_the_start_fails(collector: MemoryCollector, calls: list[str]) -> None:
    await live(conversing.starlette(fails_at="startup"), FREEZING, calls)
    assert calls == ["startup.failed"]


async def test_where_python_has_no_such_thing(
    collector: MemoryCollector, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("swagent.asgi.lifespan.gc.freeze")
    await live(conversing.starlette(), FREEZING, calls)
    assert calls == ["startup.complete", "shutdown.complete"]


@pytest.mark.gate
async def test_living_objects_are_left_out(collector: MemoryCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SW_AGENT_GC_FREEZE", "true")
    # of what tests have left out so far
    gc.unfreeze()
    try:
        async with lifespan(SkyWalkingMiddleware(conversing.starlette())):
            assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
