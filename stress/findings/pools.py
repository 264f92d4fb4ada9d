"""The cases of connection pools: one that a report empties, one that is always too small, one with room, and one that
is often full, and not for long."""

from __future__ import annotations

import asyncio
import os
from functools import cache

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool
from starlette.requests import Request
from starlette.responses import Response

from .handlers import LEVEL, done, handler

_SIZES = {"pool": 2, "pool_with_room": 5, "busy_pool": 2, "always_waiting": 2}


@cache
def engine() -> AsyncEngine:
    """An engine whose pool has as many connections as the case says."""
    size = _SIZES[os.environ["FINDINGS_CASE"]]
    memory = "sqlite+aiosqlite:///:memory:"
    return create_async_engine(memory, poolclass=AsyncAdaptedQueuePool, pool_size=size, max_overflow=0)


if os.environ.get("FINDINGS_CASE") in _SIZES:
    engine()  # before the first request, which its imports would hold up


@handler("pool", "shop", "/work")
@handler("pool_with_room", "shop", "/work")
async def work(_: Request) -> Response:
    async with engine().connect() as connection:
        await connection.execute(sa.text("SELECT 1"))
    return done()


@handler("busy_pool", "shop", "/work")
async def short_use(_: Request) -> Response:
    async with engine().connect() as connection:
        await connection.execute(sa.text("SELECT 1"))
        await asyncio.sleep(0.004)
    await asyncio.sleep(0.02)
    return done()


@handler("always_waiting", "shop", "/work")
async def always_waiting(_: Request) -> Response:
    async with engine().connect() as connection:
        await connection.execute(sa.text("SELECT 1"))
        await asyncio.sleep(LEVEL / 1000)
    return done()


@handler("pool", "shop", "/report")
async def report(_: Request) -> Response:
    """Hold all connections while the report is written."""
    async with engine().connect() as first, engine().connect() as second:
        await first.execute(sa.text("SELECT 1"))
        await second.execute(sa.text("SELECT 1"))
        await asyncio.sleep(LEVEL / 1000)
    return done()
