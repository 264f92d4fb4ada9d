"""A request's span is opened on demand, or after the end, and the record is the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
import pytest
from fastapi import APIRouter, FastAPI

from asgi.calling import SW8, answers, body, call, doing, http_scope, says, segments_of, start, traced, websocket_scope
from record.recorded import work
from swagent import current_span, exit_span, local_span
from swagent.asgi.lifespan import App, Receive, Scope, Send
from swagent.collector.store.trace_records import Segment
from swagent.instrument.call import is_outermost
from swagent.record.trace.context import current
from swagent.request.pending import PendingRequest

pytestmark = pytest.mark.anyio


def routed() -> App:
    async def item(number: int) -> dict[str, int]:
        if number > 7:
            raise LookupError(number)
        return {"number": number}

    router = APIRouter()
    router.add_api_route("/items/{number}", item)
    app = FastAPI()
    app.include_router(router, prefix="/v1")
    return app


CASES: dict[str, tuple[Callable[[], App], Scope]] = {
    "a path": (answers, http_scope("/items/7")),
    "a long path": (answers, http_scope("/items/" + 300 * "7")),
    "an image, which is ignored": (answers, http_scope("/lamp.png")),
    "an odd method": (answers, http_scope(method="BREW")),
    "a failed response": (lambda: answers(503), http_scope()),
    "no response": (says, http_scope()),
    "half a response": (lambda: says(start()), http_scope()),
    "a stream": (lambda: says(start(), body(b"a", more=True), body(b"b")), http_scope()),
    "a route with a prefix": (routed, http_scope("/v1/items/7")),
    "a route that fails": (routed, http_scope("/v1/items/8")),
    "no route": (routed, http_scope("/v2/items/7")),
    "a caller": (answers, http_scope(headers=[(b"sw8", SW8)])),
    "a caller, not sampled": (answers, http_scope(headers=[(b"sw8", b"0" + SW8[1:])])),
    "a broken caller": (answers, http_scope(headers=[(b"sw8", b"1-x")])),
    "a websocket": (lambda: says({"type": "websocket.accept"}, {"type": "websocket.close"}), websocket_scope("/talk")),
    "no client": (answers, http_scope(client=None)),
    "an odd client": (answers, http_scope(client=('a "quoted" höst', 1))),
}


def asking(app: App) -> App:
    """The same, but its span is looked at first."""

    async def asks(scope: Scope, receive: Receive, send: Send) -> None:
        span = current_span()
        assert span is not None
        assert isinstance(span.trace_id, str)
        await app(scope, receive, send)

    return asks


async def recorded(app: App, scope: Scope) -> list[tuple[Segment, list[str]]]:
    async with traced(app, instance="shop-1") as shop:
        for _ in range(2):
            with suppress(LookupError):
                await call(shop.app, dict(scope))
        assert shop.app.faults.count == 0
        return [nameless(each) for each in await shop.segments()]


def nameless(segment: Segment) -> tuple[Segment, list[str]]:
    """Without what differs from one request to the next, and what its logs say."""
    said = [dict(log.data)["message"] for span in segment.spans for log in span.logs]
    spans = tuple(replace(span, start_time=0, end_time=0, logs=()) for span in segment.spans)
    is_a_callers = any(span.references for span in segment.spans)
    return replace(segment, segment_id="", trace_id=segment.trace_id if is_a_callers else "", spans=spans), said


@pytest.mark.parametrize(("make", "scope"), CASES.values(), ids=CASES)
async def test_looked_at_or_not_it_is_the_same(make: Callable[[], App], scope: Scope) -> None:
    # twice, since the first of an operation goes another way than those after it
    plain = await recorded(make(), scope)
    looked_at = await recorded(asking(make()), scope)
    assert plain == looked_at
    assert len({repr(each) for each in plain}) <= 1


class Routed:
    path_format = "/{letter}"


@pytest.mark.parametrize("is_encoded", [False, True])
async def test_a_span_after_the_response_refers_to_the_request(is_encoded: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answers()(scope, receive, send)
        if is_encoded:
            assert await shop.agent.flush()
        work("afterwards")

    async with traced(app) as shop:
        for _ in range(2):
            await call(shop.app, http_scope("/a", route=Routed()))
        segments = await shop.segments()
    requests = {each.segment_id: each for each in segments if not each.spans[0].references}
    followers = [each for each in segments if each.spans[0].references]
    assert len(requests) == len(followers) == 2
    for follower in followers:
        [reference] = follower.spans[0].references
        request = requests[reference.segment_id]
        assert (reference.kind, reference.span_id) == ("CrossThread", 0)
        assert follower.trace_id == request.trace_id == reference.trace_id
        assert reference.endpoint == request.spans[0].operation == "GET:/{letter}"


async def test_the_question_for_a_call_under_way_opens_no_span() -> None:
    seen: list[bool] = []

    def ask() -> None:
        request = current.get()
        assert isinstance(request, PendingRequest)
        seen.extend([is_outermost(), request.span is None])
        with exit_span("call", "peer:80"):
            seen.append(is_outermost())

    await segments_of(doing(ask), http_scope("/a"))
    assert seen == [True, True, False]


async def test_the_trace_of_an_opened_request_is_known_after_its_end() -> None:
    seen: list[Any] = []

    def look() -> None:
        seen.append(current.get())
        work("child")

    [segment] = await segments_of(doing(look), http_scope("/a"))
    assert seen[0].trace_id == segment.trace_id


async def test_a_child_that_outlives_the_response_ends_the_segment() -> None:
    children: list[Any] = []

    async with traced(doing(lambda: children.append(local_span("slow").start()))) as shop:
        await call(shop.app, http_scope("/a"))
        assert await shop.segments() == []
        children[0].stop()
        [segment] = await shop.segments()
    assert {span.operation for span in segment.spans} == {"GET:/a", "slow"}


@pytest.mark.gate
async def test_a_thread_that_opens_and_one_that_ends_agree() -> None:
    """Whichever thread comes first, every request is one segment, with the ids that the looking thread saw."""
    seen: list[tuple[str, str]] = []
    spans: list[Any] = []
    barrier = threading.Barrier(2)

    def look(span: Any) -> None:
        barrier.wait(10)
        seen.append((span.trace_id, span.segment_id))

    def end() -> None:
        span = spans.pop()
        barrier.wait(10)
        span.stop()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        threads = [threading.Thread(target=look, args=[current_span()]), threading.Thread(target=end)]
        spans.append(current_span())
        for thread in threads:
            thread.start()
        for thread in threads:
            await anyio.to_thread.run_sync(thread.join)
        await answers()(scope, receive, send)

    async with traced(answers()) as shop:
        await call(shop.app, http_scope("/a", route=Routed()))
        shop.app.app = app
        for _ in range(100):
            await call(shop.app, http_scope("/a", route=Routed()))
        segments = await shop.segments()
    assert len(segments) == 101
    assert sorted((each.trace_id, each.segment_id) for each in segments)[1:] == sorted(seen)


async def test_only_what_a_span_has_is_found_by_asking() -> None:
    spans: list[Any] = []
    async with traced(doing(lambda: spans.append(current_span()))) as shop:
        for _ in range(2):
            await call(shop.app, http_scope("/7", route=Routed()))
            span = spans.pop()
            with pytest.raises(AttributeError, match="no attribute 'colour'"):
                span.colour  # noqa: B018
            assert (span.name, span.kind.name, span.ended, span.failed) == ("GET:/{letter}", "ENTRY", True, False)
            with pytest.raises(AttributeError):
                span.colour  # noqa: B018
