"""A request that ends without an answer: by an exit, a cancellation, or a client that hangs up. That is no error."""

from __future__ import annotations

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from asgi.calling import DISCONNECT, REQUEST, body, call, http_scope, start, tags, traced
from swagent.asgi.lifespan import Receive, Scope, Send

pytestmark = pytest.mark.anyio


async def test_a_request_that_is_never_answered_ends_all_the_same() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert await receive() == DISCONNECT

    async with traced(app) as shop:
        assert await call(shop.app, http_scope(), DISCONNECT) == []
        span = await shop.span()
    assert not span.is_error
    assert "http.status_code" not in tags(span)


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
    """From version 2.4 of the specification on, a server tells by an OSError out of `send`."""

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


async def test_a_client_that_hangs_up_in_the_middle_of_its_request_is_no_error() -> None:
    async def read(request: Request) -> Response:
        return PlainTextResponse(await request.body())

    async with traced(Starlette(routes=[Route("/", read)])) as shop:
        with pytest.raises(Exception) as raised:
            await call(shop.app, http_scope(), {**REQUEST, "more_body": True}, DISCONNECT)
        span = await shop.span()
    assert type(raised.value).__name__ == "ClientDisconnect"
    assert not span.is_error
    assert "http.status_code" not in tags(span), "what Starlette answers here reaches nobody"


async def test_an_oserror_of_the_applications_own_is_an_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ConnectionResetError("the database hung up")

    async with traced(app) as shop:
        with pytest.raises(ConnectionResetError):
            await call(shop.app, http_scope())
        assert (await shop.span()).is_error
