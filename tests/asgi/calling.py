"""ASGI by hand: scopes, one call of an application, and an application with a middleware and a collector in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import anyio
import httpx
import pytest

from swagent import Agent, Config
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import App, Message, Receive, Scope, Send
from swagent.collector.store.trace_records import Segment, Span
from swagent.collector.store.trace_translation import decode_segment
from swagent.record.trace.carrier import Carrier, format_sw8
from swagent.signals import Signal
from swagent.testing import MemoryCollector

# On a busy machine any loop is held now and then, which a span would record, and so would be where the time went.
SEGMENTS_ONLY: dict[str, Any] = {
    "log_reporter_active": False, "meter_reporter_active": False, "event_reporter_active": False,
    "profile_active": False, "loop_block_limit": 0, "time_split_every": 0,
}  # fmt: skip
CONFIG = Config(service="shop", **SEGMENTS_ONLY)
# The context of a caller.
CARRIER = Carrier(True, "trace-1", "segment-1", 3, "web", "web-1", "GET:/cart", "shop:80")
SW8 = format_sw8(CARRIER).encode()
Headers = Iterable[tuple[bytes, bytes]]


def http_scope(path: str = "/", headers: Headers = (), **others: Any) -> Scope:
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"shop.test"), *headers],
        "client": ("192.0.2.1", 5000),
        "server": ("192.0.2.2", 80),
    }
    return {**scope, **others}


def websocket_scope(path: str = "/", headers: Headers = (), **others: Any) -> Scope:
    scope = http_scope(path, headers, type="websocket", scheme="ws", subprotocols=[], **others)
    del scope["method"]
    return scope


REQUEST: Message = {"type": "http.request", "body": b"", "more_body": False}
DISCONNECT: Message = {"type": "http.disconnect"}


async def call(app: App, scope: Scope, *heard: Message) -> list[Message]:
    """Run an application over one scope and return what it said.

    It hears the messages given, a plain request by default, and once it has said its last that the peer is gone.
    """
    waiting = list(heard) or [REQUEST]
    said: list[Message] = []
    is_over = anyio.Event()

    async def receive() -> Message:
        await anyio.lowlevel.checkpoint()
        if not waiting:
            await is_over.wait()
            return {"type": f"{scope['type']}.disconnect"}
        return waiting.pop(0)

    async def send(message: Message) -> None:
        await anyio.lowlevel.checkpoint()
        said.append(message)
        kind = message.get("type")
        if kind == "websocket.close" or (kind == "http.response.body" and not message.get("more_body")):
            is_over.set()

    await app(scope, receive, send)
    return said


def start(status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": []}


def body(data: bytes = b"", more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def answers(status: int = 200, data: bytes = b"ok") -> App:
    """An application that answers every request alike, and has no lifespan."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await send(start(status))
        await send(body(data))

    return app


def says(*messages: Message | BaseException) -> App:
    """An application that sends these messages, whatever it is asked, and raises what is an exception."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            if isinstance(message, BaseException):
                raise message
            await send(message)

    return app


def doing(work: Callable[[], object]) -> App:
    """An application that does something, and then answers."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        work()
        await answers()(scope, receive, send)

    return app


Middleware = TypeVar("Middleware")


@dataclass
class TracedBy(Generic[Middleware]):
    """An application behind a middleware whose agent reports into memory."""

    app: Middleware
    agent: Agent
    collector: MemoryCollector = field(repr=False)

    async def segments(self) -> list[Segment]:
        """Everything that has been recorded so far."""
        assert await self.agent.flush()
        return self.arrived()

    def arrived(self) -> list[Segment]:
        """Everything that has arrived so far."""
        return [decode_segment(each) for each in self.collector.records[Signal.SEGMENT]]

    async def span(self) -> Span:
        """The one span of the one segment."""
        [segment] = await self.segments()
        [span] = segment.spans
        return span

    def client(self, *, raises: bool = True, **options: Any) -> httpx.AsyncClient:
        app: Any = self.app
        transport = httpx.ASGITransport(app, raise_app_exceptions=raises, **options)
        return httpx.AsyncClient(transport=transport, base_url="http://shop.test")


Traced = TracedBy[SkyWalkingMiddleware]


def traced(app: App, **config: Any) -> AbstractAsyncContextManager[Traced]:
    """The application behind a middleware, with an agent of its own around it."""
    return traced_by(lambda agent: SkyWalkingMiddleware(app, agent=agent), **config)


@asynccontextmanager
async def traced_by(make: Callable[[Agent], Middleware], **config: Any) -> AsyncGenerator[TracedBy[Middleware]]:
    """The middleware that a function makes for an agent."""
    collector = MemoryCollector()
    async with Agent(Config(**{**SEGMENTS_ONLY, "service": "shop", **config}), transport=collector.transport) as agent:
        yield TracedBy(make(agent), agent, collector)


def tags(span: Span) -> dict[str, str]:
    """The tags, of which no key may occur twice."""
    assert len(dict(span.tags)) == len(span.tags)
    return dict(span.tags)


async def span_of(
    app: App, scope: Scope | None = None, *heard: Message, raises: type[BaseException] | None = None, **config: Any
) -> Span:
    """The one span of one call.

    :param raises: what the call has to raise
    """
    [segment] = await segments_of(app, http_scope() if scope is None else scope, heard=heard, raises=raises, **config)
    [span] = segment.spans
    return span


async def segments_of(
    app: App, *scopes: Scope, heard: Iterable[Message] = (), raises: type[BaseException] | None = None, **config: Any
) -> list[Segment]:
    """What is recorded of calls, one after the other."""
    async with traced(app, **config) as shop:
        for scope in scopes:
            with pytest.raises(raises) if raises is not None else nullcontext():
                await call(shop.app, dict(scope), *heard)
        return await shop.segments()
