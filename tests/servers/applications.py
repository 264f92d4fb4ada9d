"""Applications that know nothing of swagent, one for each kind of server. Each answers with its process id."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route


def raw(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """WSGI by hand."""
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


async def item(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(os.getpid()))


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncGenerator[None]:
    import swagent  # noqa: PLC0415, RUF100  (asked when the application starts)
    from swagent.agent import running  # noqa: PLC0415, RUF100

    with swagent.local_span("start-up"):
        agent = running()
        print("the agent is at home in", "nothing" if agent is None else _home(), flush=True)
        yield


def _home() -> str:
    from swagent.runtime import agent_thread  # noqa: PLC0415, RUF100

    return "the lifespan" if agent_thread.running() is None else "a thread"


asgi = Starlette(routes=[Route("/items/{id}", item)], lifespan=lifespan)


def flask() -> Any:
    """Flask's factory."""
    from flask import Flask  # noqa: PLC0415, RUF100

    app = Flask("shop")
    app.add_url_rule("/items/<id>", view_func=lambda id: str(os.getpid()))  # noqa: A006
    return app
