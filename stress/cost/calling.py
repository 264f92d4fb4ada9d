"""Handlers that call others: a database by asyncpg, a service by httpx. Neither is there, so no kernel is called, and
each answer comes in a turn of the loop that is the same in each run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
from fastapi import FastAPI

from .connections import CONNECTIONS
from .postgres import LoopToPostgres

QUERIES = 41
"""Of the handler that asks much: a list, and then each of its rows."""
_STATEMENT = "SELECT number FROM orders WHERE id = 1"
_URL = "http://stock.test/orders/17"


class Answering(httpx.AsyncBaseTransport):
    """A service that is not there."""

    async def handle_async_request(self, _: httpx.Request) -> httpx.Response:
        """Answer in the loop's next turn."""
        await asyncio.sleep(0)
        return httpx.Response(200, json={"ok": True})


@asynccontextmanager
async def with_calls(app: FastAPI) -> AsyncIterator[None]:
    """Add the handlers, and have what they call as long as this lasts."""
    loop: Any = LoopToPostgres(asyncio.get_running_loop())

    async def connect(*_: object, **__: object) -> Any:
        return await asyncpg.connect(host="127.0.0.1", user="counted", database="counted", ssl=False, loop=loop)

    async with (
        asyncpg.create_pool(connect=connect, min_size=CONNECTIONS, max_size=CONNECTIONS) as pool,
        httpx.AsyncClient(transport=Answering()) as client,
    ):
        _add(app, pool, client)
        yield


def _add(app: FastAPI, pool: Any, client: httpx.AsyncClient) -> None:
    @app.get("/query")
    async def query() -> dict[str, bool]:
        async with pool.acquire() as connection:
            return {"ok": await connection.fetchval(_STATEMENT) == 1}

    @app.get("/queries")
    async def queries() -> dict[str, bool]:
        async with pool.acquire() as connection:
            found = [await connection.fetchval(_STATEMENT) for _ in range(QUERIES)]
            return {"ok": sum(found) == QUERIES}

    @app.get("/fetch")
    async def fetch() -> dict[str, bool]:
        response = await client.get(_URL)
        return {"ok": response.status_code == 200}
