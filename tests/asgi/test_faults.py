"""An error inside the middleware is counted and logged, and never reaches a request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from asgi.calling import answers, body, call, http_scope, says, segments_of, start, traced
from record.recorded import carrier_of
from swagent import Agent, Config, current_span, exit_span
from swagent.acceleration import native
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import App, Receive, Scope, Send
from swagent.pipeline.channel import Channel
from swagent.record.trace.segment import Segment
from swagent.record.trace.tracer import Tracer
from swagent.request import pending, state
from swagent.request import scope as scope_module
from swagent.request import span as span_module
from swagent.request.pending import PendingRequest
from swagent.request.span import RequestSpan

pytestmark = pytest.mark.anyio


Patch = pytest.MonkeyPatch


class BugError(Exception):
    """Planted."""


def broken(*args: object, **kwargs: object) -> Any:
    raise BugError


Plant = tuple[Any, str]
PLANTS: dict[str, Plant] = {
    "beginning the request": (PendingRequest, "__init__"),
    "reading the scope": (state, "read_facts"),
    "naming": (scope_module, "route_template"),
    "finding the framework": (scope_module, "component_of"),
    "ending the request": (PendingRequest, "finish" if native is None else "_finish_otherwise"),
    "putting off": (Channel, "wake_reader"),
}
# The plants that fail only where the span was needed before the end.
EARLY = {
    **PLANTS,
    "reading the scope": (pending, "read_facts"),
    "making the span": (RequestSpan, "__init__"),
    "opening the segment": (Segment, "__init__"),
    "asking the sampler": (Tracer, "samples"),
    "describing the span": (span_module, "describe"),
    "ending the span": (RequestSpan, "stop"),
    "leaving the segment": (Segment, "leave"),
    "handing on": (Tracer, "finish"),
}
del EARLY["putting off"]


@contextmanager
def planted(plant: Plant, monkeypatch: Patch, break_: Callable[..., Any] = broken) -> Iterator[None]:
    """One place that breaks."""
    with monkeypatch.context() as patch:
        patch.setattr(*plant, break_)
        if native is not None and plant == PLANTS["beginning the request"]:
            # the accelerator begins a request without that method
            native.set_clock(break_)
        try:
            yield
        finally:
            if native is not None:
                native.set_clock(None)


class Interruption(BaseException):
    """As KeyboardInterrupt, which a signal handler may raise anywhere. Not that one: it would end the loop."""


def interrupted(*args: object, **kwargs: object) -> Any:
    raise Interruption


def asks_early(status: int) -> App:
    """An application that looks at its span."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        span = current_span()
        if span is not None:
            span.tag("looked", 1)
        await answers(status)(scope, receive, send)

    return app


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("plant", [pytest.param(plant, id=name) for name, plant in PLANTS.items()])
async def test_an_interruption_of_our_own_work(plant: Plant, status: int, monkeypatch: Patch) -> None:
    async with traced(answers(status)) as shop:
        with planted(plant, monkeypatch, interrupted), pytest.raises(Interruption):
            await call(shop.app, http_scope())
        assert await call(shop.app, http_scope("/later")) == [start(status), body(b"ok")]


@pytest.mark.parametrize(
    ("plant", "make"),
    [
        *(pytest.param(plant, answers, id=name) for name, plant in PLANTS.items()),
        *(pytest.param(plant, asks_early, id=f"early, {name}") for name, plant in EARLY.items()),
    ],
)
@pytest.mark.parametrize("status", [200, 500])
async def test_the_request_is_served_whatever_breaks(
    plant: Plant, make: Callable[[int], App], status: int, monkeypatch: Patch
) -> None:
    async with traced(make(status)) as shop:
        with planted(plant, monkeypatch):
            assert await call(shop.app, http_scope()) == [start(status), body(b"ok")]
            await shop.agent.flush()
        assert shop.app.faults.count
        assert current_span() is None
        await call(shop.app, http_scope("/later"))
        later = (await shop.segments())[-1]
    assert later.spans[0].operation == "GET:/later"
    assert not later.spans[0].references


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
async def test_an_exception_passes_whatever_breaks(plant: Plant, monkeypatch: Patch) -> None:
    async with traced(says(LookupError("no such lamp"))) as shop:
        with planted(plant, monkeypatch), pytest.raises(LookupError):
            await call(shop.app, http_scope())
        assert current_span() is None


@pytest.mark.parametrize("plant", ["naming", "finding the framework"])
async def test_a_span_without_description_is_sent(plant: str, monkeypatch: Patch) -> None:
    async with traced(answers()) as shop:
        with monkeypatch.context() as patch:
            patch.setattr(*PLANTS[plant], broken)
            await call(shop.app, http_scope("/items/7"))
            span = await shop.span()
        assert span.operation == "GET:/items/7"


async def test_faults_are_logged_once(monkeypatch: Patch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "swagent")
    async with traced(answers()) as shop:
        with planted(PLANTS["beginning the request"], monkeypatch):
            for _ in range(20):
                await call(shop.app, http_scope())
    assert shop.app.faults.count == 20
    assert [record.getMessage() for record in caplog.records] == [
        "opening the span of a request failed, and the request goes on: BugError()"]  # fmt: skip


async def test_a_frameworks_object_that_raises_when_looked_at_costs_the_template_only() -> None:
    class Odd:
        @property
        def path_format(self) -> str:
            raise BugError

    found: dict[str, str] = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = Odd()
        with exit_span("GET:/stock", peer="stock:80") as span:
            found.update(span.headers())
        await answers()(scope, receive, send)

    [segment] = await segments_of(app, http_scope("/items/7"))
    assert carrier_of(found).endpoint == "GET:/items/7"
    assert len(segment.spans) == 2


async def test_an_interruption_while_a_frameworks_object_is_looked_at_reaches_the_application() -> None:
    class Route:
        looks = 0

        @property
        def path_format(self) -> str:
            # as a signal that comes in that moment, and in no other
            Route.looks += 1
            if Route.looks == 1:
                raise Interruption
            return "/items/{id}"

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = Route()
        await answers()(scope, receive, send)

    async with traced(app) as shop:
        with pytest.raises(Interruption):
            await call(shop.app, http_scope("/items/7"))
        assert await call(shop.app, http_scope("/items/8")) == [start(200), body(b"ok")]
    assert shop.app.faults.count == 0


async def test_an_odd_message_that_the_server_takes_is_no_error_of_ours() -> None:
    async with traced(
        says({"type": "http.response.start", "status": "fine"}, {"type": "http.response.start"}, {}, body(b"ok"))
    ) as shop:
        assert len(await call(shop.app, http_scope())) == 4
        assert shop.app.faults.count
        assert (await shop.span()).operation == "GET:/"


async def test_an_exception_of_the_server_passes() -> None:
    async def send(message: object) -> None:
        raise BugError("from the server")

    async def receive() -> dict[str, object]:
        return {}

    async with traced(answers()) as shop:
        with pytest.raises(BugError, match="from the server"):
            await shop.app(http_scope(), receive, send)
        assert (await shop.span()).is_error
    assert shop.app.faults.count == 0


async def test_an_agent_that_was_never_started_costs_no_request() -> None:
    app = SkyWalkingMiddleware(answers(), agent=Agent(Config(service="shop")))
    assert await call(app, http_scope()) == [start(), body(b"ok")]
    assert app.faults.count == 1


async def test_an_agent_that_has_stopped_costs_no_request() -> None:
    async with traced(answers()) as shop:
        pass
    assert await call(shop.app, http_scope()) == [start(), body(b"ok")]
    assert shop.app.faults.count == 0
    segments = shop.agent.statistics().segment
    assert segments.offered == sum(segments.refused.values()) == 1


async def test_a_poisoned_application_cannot_poison_its_own_span() -> None:
    """The exception's own methods raise."""

    class PoisonError(Exception):
        def __str__(self) -> str:
            raise BugError

        __repr__ = __str__

    async def fail(request: Request) -> Response:
        raise PoisonError

    async def fine(request: Request) -> Response:
        return PlainTextResponse("ok")

    async with traced(Starlette(routes=[Route("/", fail), Route("/fine", fine)])) as shop:
        with pytest.raises(PoisonError):
            await call(shop.app, http_scope())
        await call(shop.app, http_scope("/fine"))
        first, second = await shop.segments()
    assert first.spans[0].is_error
    assert not second.spans[0].is_error
