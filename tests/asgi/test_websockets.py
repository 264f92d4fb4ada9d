"""A websocket is one entry span, from the handshake to the end of the application's call."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from asgi.calling import call, says, span_of, start, tags, traced, websocket_scope
from swagent import current_span
from swagent.asgi.lifespan import Message

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

    span = await span_of(Starlette(routes=[WebSocketRoute("/", fail)]), websocket_scope(), CONNECT, raises=LookupError)
    assert span.is_error
    assert [dict(log.data)["message"] for log in span.logs] == ["no such room"]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ([{"type": "websocket.close"}], 403),
        ([{**start(503), "type": "websocket.http.response.start"}, {"type": "websocket.http.response.body"}], 503),
    ],
    ids=["closed", "answered"],
)
async def test_a_refused_handshake(said: list[Message], status: int) -> None:
    span = await span_of(says(*said), websocket_scope(), CONNECT)
    assert tags(span)["http.status_code"] == str(status)
    assert span.is_error is (status == 503)
