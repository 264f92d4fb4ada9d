"""One request, one entry span: what it says, when it ends, and what counts as an error."""

from __future__ import annotations

import time

import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from asgi.calling import answers, body, call, http_scope, says, segments_of, span_of, start, tags, traced
from swagent import current_span, current_trace_id, exit_span, local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.record.trace.model import Component

pytestmark = pytest.mark.anyio


async def test_the_span_of_a_request() -> None:
    async with traced(answers()) as shop:
        before = time.time()
        said = await call(shop.app, http_scope("/items/7", query_string=b"token=secret"))
        span = await shop.span()
    assert said == [start(), body(b"ok")]
    assert (span.kind, span.layer, span.component_id) == ("Entry", "Http", Component.PYTHON)
    assert (span.operation, span.peer) == ("GET:/items/7", "192.0.2.1:5000")
    assert tags(span) == {"http.method": "GET", "http.url": "http://shop.test/items/7", "http.status_code": "200"}
    assert before - 0.001 <= span.start_time / 1000 <= span.end_time / 1000 <= time.time()
    assert not span.is_error
    assert not span.logs
    assert not span.references


async def test_no_secret_of_the_request_is_collected() -> None:
    headers = [(b"authorization", b"Bearer secret"), (b"cookie", b"session=secret")]
    assert "secret" not in repr(
        await segments_of(answers(), http_scope("/", headers, query_string=b"q=secret", method="POST"))
    )


@pytest.mark.parametrize("missing", ["client", "server", "scheme", "root_path"])
async def test_optional_parts_of_the_scope_may_be_missing(missing: str) -> None:
    scope: Scope = {**http_scope(), "headers": []}
    del scope[missing]
    async with traced(answers()) as shop:
        await call(shop.app, scope)
        assert tags(await shop.span())["http.status_code"] == "200"
    assert not shop.app.faults.count


async def test_an_exception_is_recorded() -> None:
    span = await span_of(says(LookupError("no such lamp")), raises=LookupError)
    [log] = span.logs
    data = dict(log.data)
    assert (data["event"], data["error.kind"], data["message"]) == ("error", "LookupError", "no such lamp")
    [place] = data["stack"].split("\n")
    assert place.endswith("in app"), "the stack begins in the application"


async def test_spans_inside_are_children_and_the_context_is_left_clean() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with local_span("price"), exit_span("GET:/stock", peer="stock:80"):
            seen.append(current_trace_id())
        await answers()(scope, receive, send)
        assert current_span() is None

    [segment] = await segments_of(app, http_scope())
    assert [(span.operation, span.parent_span_id) for span in sorted(segment.spans, key=lambda span: span.span_id)] == [
        ("GET:/", -1), ("price", 0), ("GET:/stock", 1)]  # fmt: skip
    assert seen == [segment.trace_id]
    assert current_span() is None


async def test_a_stream_ends_with_its_last_byte_and_before_the_background_task() -> None:
    ended_at: list[bool] = []

    def look() -> None:
        ended_at.append(current_span() is None)

    async def stream(request: Request) -> Response:
        async def chunks() -> object:
            for _ in range(3):
                look()
                yield b"chunk"

        return StreamingResponse(chunks(), background=BackgroundTask(look))  # type: ignore[arg-type]

    async with traced(Starlette(routes=[Route("/", stream)])) as shop, shop.client() as client:
        assert (await client.get("/")).content == b"chunk" * 3
        span = await shop.span()
    assert ended_at == [False, False, False, True]
    assert tags(span)["http.status_code"] == "200"


async def test_two_requests_in_one_context_are_two_traces() -> None:
    async def stream(request: Request) -> Response:
        return StreamingResponse(iter([b"chunk"]))

    async with traced(Starlette(routes=[Route("/", stream)])) as shop, shop.client() as client:
        await client.get("/")
        await client.get("/")
        first, second = await shop.segments()
    assert first.trace_id != second.trace_id
    assert not second.spans[0].references


async def test_a_file_that_the_server_sends_itself_ends_the_span() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send({"type": "http.response.pathsend", "path": "/tmp/file"})
        assert current_span() is None

    assert tags(await span_of(app))["http.status_code"] == "200"


async def test_twice_around_one_application_makes_one_span() -> None:
    async with traced(answers()) as shop:
        await call(SkyWalkingMiddleware(shop.app, agent=shop.agent), http_scope())
        assert (await shop.span()).operation == "GET:/"


@pytest.mark.parametrize("kind", ["webtransport", "swagent"])
async def test_a_scope_of_an_unknown_kind_is_handed_on(kind: str) -> None:
    handed = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        handed.append(scope["type"])

    assert await segments_of(app, {"type": kind}) == []
    assert handed == [kind]
