"""A log record names the request that it was logged in, whatever became of the request before the record is encoded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from asgi.calling import SW8, answers, call, doing, http_scope, traced
from swagent import current_trace_id, local_span
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.signals import Signal
from swagent.testing import MemoryCollector
from swagent_proto.messages import LogData

pytestmark = pytest.mark.anyio


class Routed:
    path_format = "/{letter}"


def opens_a_span() -> None:
    with local_span("afterwards"):
        pass


AFTERWARDS: dict[str, Callable[[], object]] = {"nothing more": lambda: None, "a span": opens_a_span}


@pytest.mark.parametrize("afterwards", AFTERWARDS.values(), ids=AFTERWARDS)
@pytest.mark.parametrize("before", AFTERWARDS.values(), ids=AFTERWARDS)
@pytest.mark.parametrize("headers", [(), [(b"sw8", SW8)], [(b"traceparent", b"00-" + 32 * b"a" + b"-" + 16 * b"b-01")]])
async def test_it_names_the_segment_of_its_request(
    before: Callable[[], object], afterwards: Callable[[], object], headers: Any
) -> None:
    def ask() -> None:
        before()
        logging.getLogger("shop").warning("sold out")
        afterwards()

    async with traced(doing(ask), log_reporter_active=True) as shop:
        for _ in range(2):
            await call(shop.app, http_scope("/a", headers, route=Routed()))
        segments = await shop.segments()
        logs = logs_of(shop.collector)
    places = [(each.trace_context.trace_id, each.trace_context.trace_segment_id, each.endpoint) for each in logs]
    assert sorted(places) == sorted((each.trace_id, each.segment_id, "GET:/{letter}") for each in segments)
    assert len(set(places)) == 2
    assert {each.trace_context.span_id for each in logs} == {0}


@pytest.mark.parametrize(
    "scope", [http_scope("/lamp.png"), http_scope("/a", [(b"sw8", b"0" + SW8[1:])])], ids=["ignored", "not sampled"]
)
async def test_it_names_none_that_is_not_recorded(scope: Scope) -> None:
    async with traced(doing(lambda: logging.getLogger("shop").warning("sold out")), log_reporter_active=True) as shop:
        await call(shop.app, scope)
        assert await shop.segments() == []
        [log] = logs_of(shop.collector)
    assert (log.endpoint, log.trace_context.trace_id) == ("", "")


async def test_it_may_be_encoded_while_the_request_is_served() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        logging.getLogger("shop").warning("sold out")
        assert await shop.agent.flush()
        await answers()(scope, receive, send)

    async with traced(app, log_reporter_active=True) as shop:
        await call(shop.app, http_scope("/a", route=Routed()))
        [segment] = await shop.segments()
        [log] = logs_of(shop.collector)
    assert (log.trace_context.trace_segment_id, log.endpoint) == (segment.segment_id, "GET:/{letter}")


@pytest.mark.parametrize("before", AFTERWARDS.values(), ids=AFTERWARDS)
@pytest.mark.parametrize("headers", [(), [(b"sw8", SW8)]], ids=["first", "called"])
async def test_it_names_the_request_whose_response_has_gone_out(before: Callable[[], object], headers: Any) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        before()
        await answers()(scope, receive, send)
        logging.getLogger("shop").warning("sold out")
        group.start_soon(work)

    async def work() -> None:
        await has_returned.wait()
        found.append(current_trace_id())
        logging.getLogger("shop").warning("sold out for long")

    has_returned, found = anyio.Event(), list[str]()
    async with traced(app, log_reporter_active=True) as shop:
        async with anyio.create_task_group() as group:
            await call(shop.app, http_scope("/a", headers, route=Routed()))
            has_returned.set()
        [request] = [each for each in await shop.segments() if each.spans[-1].operation != "afterwards"]
        logs = logs_of(shop.collector)
    assert [(each.trace_context.trace_id, each.trace_context.trace_segment_id, each.endpoint) for each in logs] == [
        (request.trace_id, request.segment_id, "GET:/{letter}")
    ] * 2
    assert found == [request.trace_id]


def logs_of(collector: MemoryCollector) -> list[LogData]:
    return [LogData().parse(each) for each in collector.records[Signal.LOG] if b"sold out" in each]
