"""The server's side of the lifespan protocol, and applications that take part in it in their own ways."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from quart import Quart
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from swagent.asgi.lifespan import App, Message, Receive, Scope, Send


@dataclass
class Conversation:
    """The messages of one lifespan."""

    said: list[Message] = field(default_factory=list)
    error: Exception | None = None

    @property
    def kinds(self) -> list[str]:
        return [message["type"].removeprefix("lifespan.") for message in self.said]


@asynccontextmanager
async def lifespan(app: App) -> AsyncGenerator[Conversation]:
    """Start an application as servers do, and shut it down behind the block if it is up. An error of the application's
    is kept; one that fails to start or to shut down is ended like a server's last task."""
    talk = Conversation()
    to_app, from_server = anyio.create_memory_object_stream[Message](2)
    has_news = anyio.Event()

    async def send(message: Message) -> None:
        await anyio.lowlevel.checkpoint()
        talk.said.append(message)
        has_news.set()

    async def run() -> None:
        try:
            await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, from_server.receive, send)
        except Exception as error:
            talk.error = error
        has_news.set()

    with to_app, from_server:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            with anyio.fail_after(30):
                await to_app.send({"type": "lifespan.startup"})
                await has_news.wait()
            has_news = anyio.Event()
            yield talk
            if talk.kinds == ["startup.complete"]:
                with anyio.fail_after(30):
                    await to_app.send({"type": "lifespan.shutdown"})
                    await has_news.wait()
            group.cancel_scope.cancel()


class StartError(Exception):
    """The application cannot start, or cannot stop."""


def starlette(*, fails_at: str = "", journal: list[str] | None = None) -> App:
    @asynccontextmanager
    async def life(app: Starlette) -> AsyncGenerator[dict[str, str]]:
        if fails_at == "startup":
            raise StartError("no database")
        if journal is not None:
            journal.append("up")
        yield {"key": "value"}
        if fails_at == "shutdown":
            raise StartError("the database hangs")

    async def state(request: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    return Starlette(lifespan=life, routes=[Route("/", state)])


def quart(*, fails_at: str = "") -> App:
    app = Quart("shop")

    @app.before_serving
    async def up() -> None:
        if fails_at == "startup":
            raise StartError("no database")

    @app.after_serving
    async def down() -> None:
        if fails_at == "shutdown":
            raise StartError("the database hangs")

    served: App = app  # type: ignore[assignment]
    return served


def listens_on(*, fails: bool = False) -> App:
    """An application that never ends its lifespan by itself."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if fails:
                await send({"type": "lifespan.startup.failed", "message": "no database"})
            else:
                await send({"type": message["type"] + ".complete"})

    return app


def living(app: App) -> App:
    """An application with a lifespan."""
    life = listens_on()

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        await (life if scope["type"] == "lifespan" else app)(scope, receive, send)

    return both


def returns_failed() -> App:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    return app


def raises_between() -> App:
    """An application whose lifespan breaks while it serves."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise StartError("broke")

    return app
