"""The application, the same for every agent: four handlers, and the counts of what they did.

Runs in environments that have FastAPI, httpx and one agent, and nothing of this package: it is imported by itself.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any

import anyio
import httpx
from fastapi import FastAPI

log = logging.getLogger("compared")
WAIT = 0.005
LOCAL_SPANS = 10

LocalSpan = Callable[[str], AbstractContextManager[Any]]
"""Makes a local span of this name, by the API of the agent."""
Fetch = Callable[[httpx.AsyncClient, str], Any]
"""Makes one outgoing call; awaitable."""


def no_span(_: str) -> AbstractContextManager[None]:
    """The stand-in for a local span where there is no agent."""
    return nullcontext()


async def fetch(client: httpx.AsyncClient, url: str) -> None:
    """An outgoing call where there is no agent, and where the agent's own plugin for httpx makes the span."""
    await client.get(url)


class Counts:
    """The counts of the handlers' work. A request that its client gave up counts as well: it is served to its end."""

    def __init__(self) -> None:
        self.began = self.ended = self.logged = self.asked = 0

    def __enter__(self) -> None:
        self.began += 1

    def __exit__(self, *_: object) -> None:
        self.ended += 1


def build(local_span: LocalSpan = no_span, fetch: Fetch = fetch) -> FastAPI:
    """The application, without its agent."""
    logging.basicConfig(level=logging.WARNING)
    # by default twenty connections are kept, and a load of more would measure how the others are made
    client = httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=100, max_keepalive_connections=100))
    upstream = os.environ["COMPARED_UPSTREAM"]
    counts = Counts()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/trivial")
    async def trivial() -> dict[str, bool]:
        with counts:
            return {"ok": True}

    @app.get("/await")
    async def wait() -> dict[str, bool]:
        with counts:
            await anyio.sleep(WAIT)
            log.warning("waited")
            counts.logged += 1
            return {"ok": True}

    @app.get("/call")
    async def call() -> dict[str, bool]:
        with counts:
            await fetch(client, upstream)
            return {"ok": True}

    @app.get("/spans")
    async def spans() -> dict[str, bool]:
        with counts:
            for _ in range(LOCAL_SPANS):
                with local_span("step"):
                    pass
            return {"ok": True}

    @app.get("/counts")
    async def counted() -> dict[str, int]:
        counts.asked += 1
        return dict(vars(counts))

    return app
