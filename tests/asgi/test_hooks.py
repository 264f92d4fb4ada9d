"""Frameworks with a hook for the start and another one for the end have their agent from `start()` to `stop()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sniffio
from litestar import Litestar
from quart import Quart

from asgi.calling import CONFIG, call, http_scope
from asgi.conversing import lifespan
from swagent import Agent, local_span
from swagent.record.trace import tracer as tracers
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio


def litestar(agent: Agent) -> Any:
    return Litestar(on_startup=[agent.start], on_shutdown=[agent.stop])


def quart(agent: Agent) -> Any:
    app: Any = Quart("shop")
    app.before_serving(agent.start)
    app.after_serving(agent.stop)
    return app


@pytest.mark.parametrize("make", [litestar, quart])
async def test_hooks_of_a_framework(make: Callable[[Agent], Any]) -> None:
    if make is quart and sniffio.current_async_library() == "trio":
        pytest.skip("Quart runs on asyncio")
    agent = Agent(CONFIG, transport=MemoryCollector().transport)
    app = make(agent)
    async with lifespan(app) as talk:
        with local_span("work"):
            await call(app, http_scope("/nowhere"))
    assert talk.kinds == ["startup.complete", "shutdown.complete"]
    assert agent.statistics().segment.confirmed == 1
    assert tracers.running() is None
