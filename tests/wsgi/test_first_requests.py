"""Requests that come while the first one starts the agent."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest

from swagent import current_trace_id
from swagent.wsgi import SkyWalkingMiddleware, middleware
from swagent.wsgi.response import StartResponse
from swagent.wsgi.scope import Environ
from wsgi.calling import ask, environ_of, traced

pytestmark = pytest.mark.anyio


async def test_they_wait_for_the_agent_and_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    began, served = threading.Event(), threading.Event()
    traces: list[str] = []

    def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        traces.append(current_trace_id())
        served.set()
        start_response("200 OK", [])
        return []

    async with traced(app) as shop:
        tracer, is_there = shop.agent.tracer, [False]

        def start(_: object) -> Any:
            began.set()
            # the other request has to wait; it is served at once where it does not
            assert not served.wait(0.2)
            is_there[0] = True
            return shop.agent

        monkeypatch.setattr(middleware, "running", lambda: tracer if is_there[0] else None)
        monkeypatch.setattr(middleware, "start_agent", start)
        wrapped = SkyWalkingMiddleware(app)
        threads = [threading.Thread(target=ask, args=(wrapped, environ_of("/items/7"))) for _ in range(2)]
        threads[0].start()
        began.wait()
        threads[1].start()
        for each in threads:
            each.join()
    assert len({*traces}) == 2
    assert all(traces)
    assert "N/A" not in traces
