"""Which task serves a request is known without a look at any stack, and nothing is kept alive for it."""

from __future__ import annotations

import gc
import weakref
from contextvars import ContextVar
from typing import cast

import anyio
import pytest

from asgi.calling import answers, call, doing, http_scope, traced
from swagent import local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.record.trace.context import current
from swagent.request.pending import PendingRequest

pytestmark = pytest.mark.anyio
_session: ContextVar[object] = ContextVar("session")


class Session:
    """An object of the application's, in a context variable of its own."""


async def test_the_task_that_serves_a_request_is_known_by_its_stack() -> None:
    found: list[bool] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = cast("PendingRequest", current.get())

        async def look() -> None:
            found.append(request.runs_here())

        async with anyio.create_task_group() as group:
            group.start_soon(look)
        await look()
        await answers()(scope, receive, send)
        await look()

    async with traced(app) as shop:
        await call(shop.app, http_scope())
    assert found == [False, True, True]


@pytest.mark.parametrize("opens_span", [False, True])
async def test_the_context_of_a_request_is_let_go_with_its_task(opens_span: bool) -> None:
    sessions: list[weakref.ref[Session]] = []
    requests: list[PendingRequest] = []

    def ask() -> None:
        requests.append(cast("PendingRequest", current.get()))
        session = Session()
        sessions.append(weakref.ref(session))
        _session.set(session)
        if opens_span:
            with local_span("step"):
                pass

    async def serve(shop: SkyWalkingMiddleware) -> None:
        await call(shop, http_scope())

    async with traced(doing(ask)) as shop:
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


async def test_a_request_and_its_span_are_no_cycle_once_they_are_over() -> None:
    requests: list[PendingRequest] = []

    def ask() -> None:
        requests.append(cast("PendingRequest", current.get()))
        with local_span("step"):
            pass

    async with traced(doing(ask)) as shop:
        await call(shop.app, http_scope())
    span = requests[0].span
    assert span is not None
    assert span.ended
    assert requests[0] not in gc.get_referents(span)
    span.stop()
    assert not span.runs_here()
