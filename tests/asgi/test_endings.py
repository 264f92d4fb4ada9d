"""A request that ends without an answer: by an exit, a cancellation, or a client that hangs up. That is no error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from asgi.calling import (
    DISCONNECT,
    REQUEST,
    answers,
    body,
    call,
    http_scope,
    says,
    segments_of,
    start,
    tags,
    traced,
)
from swagent import local_span
from swagent.asgi.lifespan import Message, Receive, Scope, Send

pytestmark = pytest.mark.anyio


async def test_a_request_that_is_never_answered_ends_all_the_same() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert await receive() == DISCONNECT

    async with traced(app) as shop:
        assert await call(shop.app, http_scope(), DISCONNECT) == []
        span = await shop.span()
    assert not span.is_error
    assert "http.status_code" not in tags(span)
    assert tags(span)["outcome"] == "cancelled"


async def test_a_stream_whose_client_hangs_up_is_cancelled_where_the_application_returns() -> None:
    """Before version 2.4 of the specification, `send` does not fail: Starlette hears of it, cancels the stream, and
    returns."""
    is_gone = anyio.Event()

    async def chunks() -> AsyncGenerator[bytes]:
        yield b"chunk"
        is_gone.set()
        await anyio.sleep_forever()

    async def receive() -> Message:
        await is_gone.wait()
        return DISCONNECT

    said: list[object] = []

    async def send(message: object) -> None:
        said.append(message)

    async with traced(streaming(chunks)) as shop:
        await shop.app(http_scope(), receive, send)
        span = await shop.span()
    assert said[1:] == [body(b"chunk", more=True)]
    assert not span.is_error
    assert tags(span)["http.status_code"] == "200"
    assert tags(span)["outcome"] == "cancelled"


def streaming(chunks: Callable[[], AsyncGenerator[bytes]]) -> Starlette:
    async def stream(request: Request) -> Response:
        return StreamingResponse(chunks())

    return Starlette(routes=[Route("/", stream)])


HALF = body(b"half", more=True)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        *(([start(status), body()], (status, False, None)) for status in (200, 204, 301, 304, 404, 499)),
        *(([start(status), body()], (status, True, None)) for status in (500, 503)),
        ([start(HTTPStatus.BAD_GATEWAY), body()], (502, True, None)),
        ([start()], (200, False, "cancelled")),
        ([start(), HALF], (200, False, "cancelled")),
        ([start(), HALF, ConnectionError("the database went away")], (200, True, None)),
        ([ConnectionResetError("the database hung up")], (500, True, None)),
        ([TimeoutError()], (500, True, None)),
        ([SystemExit(3)], (None, False, None)),
        ([KeyboardInterrupt()], (None, False, None)),
        ([GeneratorExit()], (None, False, None)),
    ],
    ids=str,
)
async def test_how_a_request_ends(said: list[Any], expected: tuple[int | None, bool, str | None]) -> None:
    error = said[-1] if isinstance(said[-1], BaseException) else None
    async with traced(says(*said)) as shop:
        with pytest.raises(type(error)) if error is not None else nullcontext() as raised:
            assert await call(shop.app, http_scope()) == said
        span = await shop.span()
    assert error is None or (raised is not None and raised.value is error)
    status, is_error, outcome = expected
    assert tags(span).get("http.status_code") == (status and str(status))
    assert (span.is_error, tags(span).get("outcome")) == (is_error, outcome)
    assert bool(span.logs) is (error is not None and is_error)


@pytest.mark.parametrize("said", [[], [start()]])
async def test_a_cancellation_passes_and_is_no_error(said: list[Message]) -> None:
    is_cancelled = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal is_cancelled
        for message in said:
            await send(message)
        cancel_scope.cancel()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            is_cancelled += 1
            raise

    async with traced(app) as shop:
        for _ in range(2):
            with anyio.CancelScope() as cancel_scope:
                await call(shop.app, http_scope())
            assert cancel_scope.cancelled_caught
        segments = await shop.segments()
    assert is_cancelled == len(segments) == 2
    for segment in segments:
        [span] = segment.spans
        assert tags(span)["outcome"] == "cancelled"
        assert "task" not in tags(span)
        assert not span.is_error
        assert not span.logs


async def test_a_client_that_hangs_up_on_a_stream_is_no_error() -> None:
    """From version 2.4 of the specification on, a server raises an OSError out of `send`."""

    class GoneError(OSError):
        pass

    async def chunks() -> AsyncGenerator[bytes]:
        while True:
            yield b"chunk"

    async def receive() -> dict[str, object]:
        return {"type": "http.request"}

    async def send(message: object) -> None:
        if message == body(b"chunk", more=True):
            raise GoneError

    async with traced(streaming(chunks)) as shop:
        scope = http_scope(asgi={"version": "3.0", "spec_version": "2.4"})
        with pytest.raises(Exception) as raised:
            await shop.app(scope, receive, send)
        span = await shop.span()
    assert type(raised.value).__name__ == "ClientDisconnect"
    assert not span.is_error
    assert tags(span)["http.status_code"] == "200"
    assert tags(span)["outcome"] == "cancelled"


async def test_a_client_that_hangs_up_in_the_middle_of_its_request_is_no_error() -> None:
    async def read(request: Request) -> Response:
        return PlainTextResponse(await request.body())

    async with traced(Starlette(routes=[Route("/", read)])) as shop:
        with pytest.raises(Exception) as raised:
            await call(shop.app, http_scope(), {**REQUEST, "more_body": True}, DISCONNECT)
        span = await shop.span()
    assert type(raised.value).__name__ == "ClientDisconnect"
    assert not span.is_error
    assert "http.status_code" not in tags(span), "what Starlette answers here reaches no client"


async def test_a_request_that_takes_too_long_says_so() -> None:
    async with traced(doing_nothing) as shop:
        with anyio.move_on_after(0.001):
            await call(shop.app, http_scope())
        span = await shop.span()
    assert tags(span)["outcome"] == "timed_out"
    assert not span.is_error


async def doing_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await anyio.sleep_forever()


async def test_a_cancellation_behind_the_response_comes_too_late() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answers()(scope, receive, send)
        cancel_scope.cancel()
        await anyio.sleep_forever()

    async with traced(app) as shop:
        with anyio.CancelScope() as cancel_scope:
            await call(shop.app, http_scope())
        assert "outcome" not in tags(await shop.span())


async def test_work_behind_the_response_that_fails_is_a_span_below_the_request() -> None:
    async def bad() -> None:
        await anyio.lowlevel.checkpoint()
        raise LookupError("sold out")

    async def work(request: Request) -> Response:
        return PlainTextResponse("done", background=BackgroundTask(bad))

    request, late = await segments_of(Starlette(routes=[Route("/", work)]), http_scope(), raises=LookupError)
    assert not request.spans[0].is_error
    assert tags(request.spans[0])["http.status_code"] == "200"
    [span] = late.spans
    assert (span.operation, span.kind, span.is_error) == ("after the response", "Local", True)
    assert late.trace_id == request.trace_id
    [reference] = span.references
    assert (reference.segment_id, reference.span_id) == (request.segment_id, 0)
    [log] = [dict(log.data) for log in span.logs]
    assert (log["error.kind"], log["stack"].rpartition(" ")[2]) == ("LookupError", "bad")


async def test_work_behind_the_response_of_a_request_that_is_not_recorded_is_not_recorded_either() -> None:
    async with traced(says(start(), body(), LookupError()), trace_ignore_path="/quiet") as shop:
        for path in ("/quiet", "/"):
            with pytest.raises(LookupError):
                await call(shop.app, http_scope(path))
        request, late = await shop.segments()
    assert request.trace_id == late.trace_id


async def test_a_client_that_leaves_at_the_last_body_is_no_failure_behind_the_response() -> None:
    async def no_message() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise OSError("gone")

    async with traced(says(start(), body())) as shop:
        with pytest.raises(OSError, match="gone"):
            await shop.app(http_scope(), no_message, send)
        await shop.span()


async def test_a_span_that_was_cancelled_with_its_request_names_a_task_of_its_own_only() -> None:
    async def work(name: str) -> None:
        with local_span(name):
            await anyio.sleep_forever()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:
            # the first to begin a span, which opens that of the request
            group.start_soon(work, "fetch", name="fetcher")
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        cancel_scope.cancel()
        await work("wait")

    async with traced(app) as shop:
        with anyio.CancelScope() as cancel_scope:
            await call(shop.app, http_scope())
        [segment] = await shop.segments()
    by_name = {span.operation: tags(span) for span in segment.spans}
    assert by_name["fetch"] == {"outcome": "cancelled", "task": "fetcher"}
    assert by_name["wait"] == {"outcome": "cancelled"}
    assert by_name["GET:/"]["outcome"] == "cancelled"
