"""A FastAPI application that prints its agent's last ledger as JSON when it ends."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from swagent import Agent
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Receive, Scope, Send

agent = Agent()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """The agent's life is the application's."""
    async with agent:
        yield
        began = time.monotonic()
    seconds = time.monotonic() - began
    segment: Any = agent.statistics().segment
    fields = ("offered", "accepted", "confirmed", "queued", "in_flight", "balanced")
    ledger = {name: getattr(segment, name) for name in fields}
    print(
        json.dumps(
            {**ledger, "stop_seconds": seconds, "refused": dict(segment.refused), "dropped": dict(segment.dropped)}
        ),
        flush=True,
    )


logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
api = FastAPI(lifespan=lifespan)


@api.get("/")
async def root() -> str:
    """Answer."""
    return "ok"


recorded = SkyWalkingMiddleware(api, agent=agent)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """The application; and, unrecorded, ``/unconfirmed``: how many segments the collector has not yet confirmed."""
    if scope.get("path") != "/unconfirmed":
        await recorded(scope, receive, send)
        return
    segment = agent.statistics().segment
    await PlainTextResponse(str(segment.queued + segment.in_flight))(scope, receive, send)
