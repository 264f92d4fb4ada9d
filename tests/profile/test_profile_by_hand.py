"""A profile by one's own hand: made at the collector's page, taken by an agent over gRPC, and read there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from asgi.calling import SEGMENTS_ONLY, answers, call, http_scope
from kit.servers import collector_thread
from swagent import Agent, Config
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.cli.collector_page import CollectorPage
from swagent.collector.server import Collector

from .profiled import DEADLINE, Looks

pytestmark = pytest.mark.anyio


async def _until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(DEADLINE):
        while not await anyio.to_thread.run_sync(condition):  # noqa: ASYNC110  (it comes by the agent's loop)
            await anyio.sleep(0.02)


async def test_it_names_the_slow_coroutine_and_what_it_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch)

    async def ask_the_stock() -> None:
        await looks.wait("[awaiting")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await ask_the_stock()
        await answers()(scope, receive, send)

    with collector_thread(Collector(page_port=0)) as (collector, _):
        page = CollectorPage(collector.page_address)
        settings: dict[str, Any] = {**SEGMENTS_ONLY, "profile_active": True, "get_profile_task_interval": 0.05}
        async with Agent(Config(service="shop", collector=collector.address, **settings)) as agent:
            order = {"service": "shop", "endpoint": "GET:/slow", "seconds": 20, "samples": 1}
            made = await anyio.to_thread.run_sync(lambda: page.post("profiles", body=order))
            await _until(lambda: agent.tracer.request_watch)
            assert page.get("profiles", made["id"])["state"] == "running"
            await call(SkyWalkingMiddleware(app, agent=agent), http_scope("/slow"))
            await _until(lambda: page.get("profiles", made["id"])["state"] == "finished")
            assert await agent.flush(DEADLINE)
            # stacks and segments have channels of their own
            await _until(lambda: page.get("profiles", made["id"])["nodes"] and collector.store.segments)
        found = page.get("profiles", made["id"])
        [segment] = collector.store.segments
    assert [(each["segment_id"], each["trace_id"]) for each in found["segments"]] == [
        (segment.segment_id, segment.trace_id)
    ]
    assert len(found["taken"]) == 1
    assert found["taken"].keys() == found["finished"].keys()
    names = [each["name"] for each in found["nodes"]]
    assert names[0] == "GET:/slow"
    slow = next(index for index, name in enumerate(names) if "ask_the_stock" in name)
    states = [each["name"] for each in found["nodes"][slow:] if each["state"]]
    assert any(state.startswith("[awaiting") for state in states)
