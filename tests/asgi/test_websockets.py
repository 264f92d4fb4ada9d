"""A websocket is one entry span, from the handshake to the end of the application's call."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from asgi.calling import call, tags, traced, websocket_scope
from swagent import current_span
from swagent.asgi.lifespan import Message, Receive, Scope, Send

pytestmark = pytest.mark.anyio

CONNECT: Message = {"type": "websocket.connect"}
TEXT: Message = {"type": "websocket.receive", "text": "hello"}
GONE: Message = {"type": "websocket.disconnect", "code": 1001}


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    while True:
        await socket.send_text(await socket.receive_text())


async def test_the_span_of_a_websocket() -> None:
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        assert current_span() is not None
        await socket.send_text(await socket.receive_text())
        await socket.close()
        assert current_span() is not None

    async with traced(Starlette(routes=[WebSocketRoute("/rooms/{name}", talk)])) as shop:
        said = await call(shop.app, websocket_scope("/rooms/tea"), CONNECT, TEXT)
        span = await shop.span()
    assert [message["type"] for message in said] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert (span.kind, span.layer, span.operation) == ("Entry", "Http", "WEBSOCKET:/rooms/{name}")
    assert tags(span) == {"http.method": "GET", "http.url": "ws://shop.test/rooms/{name}", "http.status_code": "101"}
    assert not span.is_error


async def test_a_client_that_leaves_is_no_error() -> None:
    async with traced(Starlette(routes=[WebSocketRoute("/", echo)])) as shop:
        with pytest.raises(Exception) as raised:
            await call(shop.app, websocket_scope(), CONNECT, TEXT, GONE)
        span = await shop.span()
    assert type(raised.value).__name__ == "WebSocketDisconnect"
    assert not span.is_error
    assert not span.logs
    assert tags(span)["http.status_code"] == "101"


async def test_an_exception_passes_and_is_recorded() -> None:
    async def fail(socket: WebSocket) -> None:
        await socket.accept()
        raise LookupError("no such room")

    async with traced(Starlette(routes=[WebSocketRoute("/", fail)])) as shop:
        with pytest.raises(LookupError):
            await call(shop.app, websocket_scope(), CONNECT)
        span = await shop.span()
    assert span.is_error
    assert [dict(log.data)["message"] for log in span.logs] == ["no such room"]


async def test_a_refused_handshake() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.close"})

    async with traced(app) as shop:
        await call(shop.app, websocket_scope(), CONNECT)
        span = await shop.span()
    assert tags(span)["http.status_code"] == "403"
    assert not span.is_error


async def test_a_handshake_refused_with_an_answer() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.http.response.start", "status": 503, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b""})

    async with traced(app) as shop:
        await call(shop.app, websocket_scope(), CONNECT)
        span = await shop.span()
    assert tags(span)["http.status_code"] == "503"
    assert span.is_error
