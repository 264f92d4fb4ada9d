"""A span that starts after its request has ended, where the client that called it lives in the same process: it belongs
to the request, and not to the client's call, which is still open."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from asgi.calling import Traced, answers, doing, traced
from swagent import current_span, current_trace_id, entry_span, exit_span, local_span
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.collector.store.trace_records import Segment
from swagent.instrument.call import is_outermost
from swagent.record.trace import span as span_module

pytestmark = pytest.mark.anyio


class Shop:
    """An application in its client's process, that works on after its response."""

    def __init__(self, *, in_task: bool) -> None:
        self.group: anyio.abc.TaskGroup
        self.may_work = anyio.Event()
        self.seen: list[Any] = []
        self._in_task = in_task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._in_task:
            # below a step that is over when the work begins
            with local_span("step"):
                self.group.start_soon(self.work)
        await answers()(scope, receive, send)
        if not self._in_task:
            # as Starlette's background tasks do
            self.may_work.set()
            await self.work()

    async def work(self) -> None:
        await self.may_work.wait()
        self.seen.append((current_span(), current_trace_id(), is_outermost()))
        with local_span("late"), exit_span("late call", peer="mail:25"):
            pass
        with local_span("later"):
            pass


async def _call(shop: Traced, app: Shop) -> None:
    """One call by a client in this process, whose span is open until all work is done."""
    async with (
        anyio.create_task_group() as app.group,
        httpx.AsyncClient(transport=httpx.ASGITransport(shop.app), base_url="http://shop.test") as client,
    ):
        with entry_span("client"), exit_span("GET:/", peer="shop.test:80") as call:
            async with anyio.create_task_group() as app.group:
                await client.get("/", headers=call.headers())
                app.may_work.set()
            assert current_span() is call
        assert current_span() is None


def _by_root(segments: list[Segment]) -> dict[str, Segment]:
    return {segment.spans[-1].operation: segment for segment in segments}


@pytest.mark.parametrize("in_task", [False, True])
async def test_it_continues_the_request_and_is_not_below_the_clients_call(in_task: bool) -> None:
    app = Shop(in_task=in_task)
    async with traced(app) as shop:
        await _call(shop, app)
        found = _by_root(await shop.segments())
    assert sorted(found) == ["GET:/", "client", "late", "later"]
    assert [span.operation for span in found["client"].spans] == ["GET:/", "client"]
    assert [span.operation for span in found["late"].spans] == ["late call", "late"]
    request = found["GET:/"]
    for name in ("late", "later"):
        [reference] = found[name].spans[-1].references
        assert reference.segment_id == request.segment_id
        assert found[name].trace_id == request.trace_id
    # a call of an instrumented library is recorded, and not taken for a part of the client's
    assert app.seen == [(None, request.trace_id, True)]


async def test_a_minute_later_it_is_work_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_module, "_CONTINUED_FOR", -1.0)
    app = Shop(in_task=False)
    async with traced(app) as shop:
        await _call(shop, app)
        found = _by_root(await shop.segments())
    assert not found["late"].spans[-1].references
    assert len({found[name].trace_id for name in ("client", "late", "later")}) == 3


async def test_within_a_request_it_is_below_the_nearest_span_that_is_open() -> None:
    left: list[Callable[..., Any]] = []

    def ask() -> None:
        with local_span("order"):
            with local_span("step"):
                left.append(contextvars.copy_context().run)
            left[0](local_span("late").start().stop)

    async with traced(doing(ask)) as shop, shop.client() as client:
        await client.get("/")
        [segment] = await shop.segments()
    ids = {span.operation: span.span_id for span in segment.spans}
    parents = {span.operation: span.parent_span_id for span in segment.spans}
    assert parents["late"] == parents["step"] == ids["order"]


async def test_a_request_that_comes_in_there_begins_a_trace() -> None:
    left: list[Callable[..., Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        left.append(contextvars.copy_context().run)
        await answers()(scope, receive, send)

    def take() -> None:
        with entry_span("message"):
            pass

    async with traced(app) as shop, shop.client() as client:
        with entry_span("client"), exit_span("GET:/", peer="shop.test:80"):
            await client.get("/")
            left[0](take)
        found = _by_root(await shop.segments())
    assert not found["message"].spans[-1].references
    assert found["message"].trace_id != found["client"].trace_id
