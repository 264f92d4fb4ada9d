"""A request that ends without an answer: by an exit, a cancellation, or a client that hangs up. That is no error."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from asgi.calling import DISCONNECT, REQUEST, answers, body, call, http_scope, start, tags, traced
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

    async def stream(request: Request) -> Response:
        async def chunks() -> object:
            yield b"chunk"
            is_gone.set()
            await anyio.sleep_forever()

        return StreamingResponse(chunks())  # type: ignore[arg-type]

    async def receive() -> Message:
        await is_gone.wait()
        return DISCONNECT

    said: list[object] = []

    async def send(message: object) -> None:
        said.append(message)

    async with traced(Starlette(routes=[Route("/", stream)])) as shop:
        await shop.app(http_scope(), receive, send)
        span = await shop.span()
    assert said[1:] == [body(b"chunk", more=True)]
    assert not span.is_error
    assert tags(span)["http.status_code"] == "200"
    assert tags(span)["outcome"] == "cancelled"


@pytest.mark.parametrize("said", [[start()], [start(), body(b"half", more=True)]])
async def test_a_response_that_the_application_leaves_incomplete_is_cancelled(said: list[Message]) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in said:
            await send(message)

    async with traced(app) as shop:
        assert await call(shop.app, http_scope()) == said
        span = await shop.span()
    assert not span.is_error
    assert tags(span)["outcome"] == "cancelled"


@pytest.mark.parametrize("status", [204, 304, 404, 500])
async def test_a_response_that_is_complete_has_no_outcome(status: int) -> None:
    async with traced(answers(status, b"")) as shop:
        await call(shop.app, http_scope(method="HEAD"))
        assert "outcome" not in tags(await shop.span())


async def test_a_cancellation_passes_and_is_no_error() -> None:
    is_cancelled = False
    cancel_scope = anyio.CancelScope()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal is_cancelled
        await send(start())
        cancel_scope.cancel()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            is_cancelled = True
            raise

    async with traced(app) as shop:
        with cancel_scope:
            await call(shop.app, http_scope())
        span = await shop.span()
    assert is_cancelled
    assert cancel_scope.cancelled_caught
    assert not span.is_error
    assert not span.logs


@pytest.mark.parametrize("ending", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
async def test_an_exit_passes_and_is_no_error(ending: BaseException) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ending

    async with traced(app) as shop:
        with pytest.raises(type(ending)) as raised:
            await call(shop.app, http_scope())
        assert raised.value is ending
        assert not (await shop.span()).is_error


async def test_a_client_that_hangs_up_on_a_stream_is_no_error() -> None:
    """From version 2.4 of the specification on, a server raises an OSError out of `send`."""

    class GoneError(OSError):
        pass

    async def stream(request: Request) -> Response:
        async def chunks() -> object:
            while True:
                yield b"chunk"

        return StreamingResponse(chunks())  # type: ignore[arg-type]

    async def receive() -> dict[str, object]:
        return {"type": "http.request"}

    async def send(message: object) -> None:
        if message == body(b"chunk", more=True):
            raise GoneError

    async with traced(Starlette(routes=[Route("/", stream)])) as shop:
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


async def test_an_oserror_of_the_applications_own_is_an_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ConnectionResetError("the database hung up")

    async with traced(app) as shop:
        with pytest.raises(ConnectionResetError):
            await call(shop.app, http_scope())
        assert (await shop.span()).is_error


async def test_a_request_that_is_cancelled_says_so() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        cancel_scope.cancel()
        await anyio.sleep_forever()

    async with traced(app) as shop:
        for _ in range(2):
            with anyio.CancelScope() as cancel_scope:
                await call(shop.app, http_scope())
        for segment in await shop.segments():
            [span] = segment.spans
            assert tags(span)["outcome"] == "cancelled"
            assert "task" not in tags(span)
            assert not span.is_error


async def test_a_request_that_takes_too_long_says_so() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.sleep_forever()

    async with traced(app) as shop:
        with anyio.move_on_after(0.001):
            await call(shop.app, http_scope())
        span = await shop.span()
    assert tags(span)["outcome"] == "timed_out"
    assert not span.is_error


async def test_a_timeout_that_leaves_the_application_is_an_error_to_its_client() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise TimeoutError

    async with traced(app) as shop:
        with pytest.raises(TimeoutError):
            await call(shop.app, http_scope())
        span = await shop.span()
    assert span.is_error
    assert tags(span)["http.status_code"] == "500"
    assert "outcome" not in tags(span)


async def test_a_cancellation_behind_the_response_comes_too_late() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body(b"ok"))
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

    async with traced(Starlette(routes=[Route("/", work)])) as shop:
        with pytest.raises(LookupError):
            await call(shop.app, http_scope())
        request, late = await shop.segments()
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
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body())
        raise LookupError

    async with traced(app, trace_ignore_path="/quiet") as shop:
        for path in ("/quiet", "/"):
            with pytest.raises(LookupError):
                await call(shop.app, http_scope(path))
        request, late = await shop.segments()
    assert request.trace_id == late.trace_id


async def test_a_client_that_leaves_at_the_last_body_is_no_failure_behind_the_response() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body())

    async def no_message() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise OSError("gone")

    async with traced(app) as shop:
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
