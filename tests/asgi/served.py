"""The application that the server tests put behind real servers; on asyncio, uvloop and trio."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from swagent import current_trace_id, local_span
from swagent.asgi import SkyWalkingMiddleware


async def item(request: Request) -> Response:
    """Answers the trace's id, so that the caller knows what must arrive at the collector."""
    with local_span("look"):
        await anyio.lowlevel.checkpoint()
    return PlainTextResponse(current_trace_id())


async def stream(request: Request) -> Response:
    """Answers the trace's id and goes on for ever."""

    async def chunks() -> AsyncGenerator[str]:
        yield current_trace_id()
        while True:
            await anyio.sleep(0.05)
            yield "."

    return StreamingResponse(chunks())


async def block(request: Request) -> Response:
    """Keeps its worker from doing anything else, for longer than any server has patience."""
    time.sleep(60)  # noqa: ASYNC251  (to block is the point)
    return PlainTextResponse("")


routes = [Route("/items/{id}", item), Route("/stream", stream), Route("/block", block)]
app = SkyWalkingMiddleware(Starlette(routes=routes))
