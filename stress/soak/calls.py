"""The calls of a request in a run with `--everything`: a dozen libraries, all at the same time. Each is imported where
it is called, as few are called on every loop.

On asyncio they are asynchronous ones, and two that block, in threads. On trio, where most libraries cannot connect,
they are ones that block, and httpx.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import httpx
from sniffio import current_async_library

from .blocking_calls import QUERY, Blocking, open_blocking
from .load import CONNECTIONS
from .servers import Servers

Call = Callable[[], Awaitable[object]]


@asynccontextmanager
async def open_calls(servers: Servers) -> AsyncGenerator[Call]:
    """Connect to all servers; gives a function that makes each call once."""
    async with AsyncExitStack() as stack:
        is_trio = current_async_library() == "trio"
        names = () if is_trio else ("requests", "pymysql")
        calls = [_in_thread(each) for each in open_blocking(stack.enter_context(ExitStack()), servers, names)]
        calls.append(await _httpx(stack, servers))
        if not is_trio:
            calls += [await opener(stack, servers) for opener in _ON_ASYNCIO]

        async def make_all() -> None:
            async with anyio.create_task_group() as group:
                for each in calls:
                    group.start_soon(_make, each)

        # as many at once as ever: so pools have all their connections from the beginning
        async with anyio.create_task_group() as group:
            for _ in range(CONNECTIONS):
                group.start_soon(make_all)
        yield make_all


async def _make(call: Call) -> None:
    await call()


def _in_thread(call: Blocking) -> Call:
    """One at a time: hardly any connection is for two threads at once."""
    lock = threading.Lock()

    def locked() -> object:
        with lock:
            return call()

    return lambda: anyio.to_thread.run_sync(locked)


async def _httpx(stack: AsyncExitStack, servers: Servers) -> Call:
    client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=60))
    return lambda: client.get(servers.http)


async def _aiohttp(stack: AsyncExitStack, servers: Servers) -> Call:
    import aiohttp

    session = await stack.enter_async_context(aiohttp.ClientSession())

    async def get() -> str:
        async with session.get(servers.http) as answer:
            return await answer.text()

    return get


async def _asyncpg(stack: AsyncExitStack, servers: Servers) -> Call:
    import asyncpg

    pool: Any = await stack.enter_async_context(asyncpg.create_pool(servers.postgres, min_size=1, max_size=2))
    return lambda: pool.fetchval(QUERY)


async def _psycopg(stack: AsyncExitStack, servers: Servers) -> Call:
    import psycopg

    connection = await psycopg.AsyncConnection.connect(servers.postgres, autocommit=True)
    await stack.enter_async_context(connection)
    return lambda: connection.execute(QUERY)


async def _sqlalchemy(stack: AsyncExitStack, servers: Servers) -> Call:
    from sqlalchemy import text
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(servers.postgres.replace("postgresql:", "postgresql+asyncpg:"), pool_size=2)
    stack.push_async_callback(engine.dispose)

    async def query() -> object:
        async with engine.connect() as connection:
            return await connection.execute(text(QUERY))

    return query


async def _pooled(stack: AsyncExitStack, library: Any, servers: Servers) -> Call:
    """aiomysql and asyncmy are called alike."""
    pool: Any = await stack.enter_async_context(
        library.create_pool(host="127.0.0.1", port=servers.mariadb, user="root", minsize=1, maxsize=2, autocommit=True)
    )

    async def query() -> object:
        async with pool.acquire() as connection, connection.cursor() as cursor:
            await cursor.execute(QUERY)
            return await cursor.fetchall()

    return query


async def _aiomysql(stack: AsyncExitStack, servers: Servers) -> Call:
    import aiomysql

    return await _pooled(stack, aiomysql, servers)


async def _asyncmy(stack: AsyncExitStack, servers: Servers) -> Call:
    import asyncmy

    return await _pooled(stack, asyncmy, servers)


async def _aiosqlite(stack: AsyncExitStack, servers: Servers) -> Call:  # noqa: ARG001  (it needs none)
    import aiosqlite

    connection = await stack.enter_async_context(aiosqlite.connect(":memory:"))
    return lambda: connection.execute_fetchall(QUERY)


async def _redis(stack: AsyncExitStack, servers: Servers) -> Call:
    from redis.asyncio import Redis

    client = await stack.enter_async_context(Redis(port=servers.redis))
    return lambda: client.incr("soak")


async def _aio_pika(stack: AsyncExitStack, servers: Servers) -> Call:
    import aio_pika

    connection = await stack.enter_async_context(await aio_pika.connect_robust(servers.rabbitmq))
    channel = await connection.channel()
    # to a queue that is not there: the server takes it and drops it
    return lambda: channel.default_exchange.publish(aio_pika.Message(b"worked"), "soak", mandatory=False)


_ON_ASYNCIO: tuple[Callable[[AsyncExitStack, Servers], Awaitable[Call]], ...] = (
    _aiohttp, _asyncpg, _psycopg, _sqlalchemy, _aiomysql, _asyncmy, _aiosqlite, _redis, _aio_pika,
)  # fmt: skip
