"""Which task serves a request is known without a look at any stack, and nothing is kept alive for it."""

from __future__ import annotations

import gc
import weakref
from contextvars import ContextVar, copy_context
from typing import Any, cast

import anyio
import pytest

from asgi.calling import SEGMENTS_ONLY, answers, call, http_scope, traced
from swagent import Agent, Config, local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.instrument.libraries.servers.server_request import begin_request, end_request
from swagent.record.trace.context import current, renew
from swagent.record.trace.model import Component
from swagent.request.pending import PendingRequest
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio
_session: ContextVar[object] = ContextVar("session")


class Session:
    """An object of the application's, in a context variable of its own."""


async def test_a_request_that_a_server_of_its_own_serves_is_known_by_its_task_too() -> None:
    async with Agent(Config(service="shop", **SEGMENTS_ONLY), transport=MemoryCollector().transport):
        request = begin_request(Component.AIOHTTP, "GET", "http", "/", [], None)
        assert request is not None
        found: list[bool] = []

        async def look() -> None:
            found.append(request.runs_here())

        async with anyio.create_task_group() as group:
            group.start_soon(look)
        await look()
        await look()
        end_request(request, 200)
        await look()
    assert found == [False, True, True, False]


def test_a_mark_is_renewed_in_its_own_context_alone() -> None:
    def mark_and_look() -> None:
        active = cast("Any", object())
        mark = current.set(active)
        assert copy_context().run(renew, mark) is None
        renewed = renew(mark)
        assert renewed is not None
        assert current.get() is active
        assert renew(mark) is None, "a mark is used up"
        assert renew(renewed) is not None
        assert current.get() is active

    copy_context().run(mark_and_look)


@pytest.mark.parametrize("opens_span", [False, True])
async def test_the_context_of_a_request_is_let_go_with_its_task(opens_span: bool) -> None:
    sessions: list[weakref.ref[Session]] = []
    requests: list[PendingRequest] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        requests.append(cast("PendingRequest", current.get()))
        session = Session()
        sessions.append(weakref.ref(session))
        _session.set(session)
        if opens_span:
            with local_span("step"):
                pass
        await answers(200)(scope, receive, send)

    async def serve(shop: SkyWalkingMiddleware) -> None:
        await call(shop, http_scope())

    async with traced(app) as shop:
        gc.collect()
        gc.disable()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(serve, shop.app)
            await anyio.wait_all_tasks_blocked()
            assert [session() for session in sessions] == [None]
        finally:
            gc.enable()
    assert requests[0].ended
