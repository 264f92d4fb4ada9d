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


UP, FROZEN = ["startup.complete", "shutdown.complete"], ["collect", "freeze"]


@pytest.mark.parametrize(
    ("app", "config", "expected"),
    [
        (conversing.starlette(), CONFIG, UP),
        (conversing.starlette(), FREEZING, [*FROZEN, *UP]),
        (conversing.listens_on(), FREEZING, [*FROZEN, *UP]),
        (conversing.starlette(fails_at="startup"), FREEZING, ["startup.failed"]),
    ],
    ids=["off", "starlette", "by hand", "where the start fails"],
)
async def test_frozen_once_before_the_server_gets_its_answer(
    app: App, config: Config, expected: list[str], collector: MemoryCollector, calls: list[str]
) -> None:
    await live(app, config, calls)
    assert calls == expected
    assert not Config().gc_freeze


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
