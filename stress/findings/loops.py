"""Event loops in a worker thread: the handlers of a case that runs one for each item, and of one that runs one."""

from __future__ import annotations

import asyncio

import httpx
from starlette.requests import Request
from starlette.responses import Response

from .handlers import LEVEL, STOCK, done, handler, query

_AT_ONCE = 12


async def _price(client: httpx.AsyncClient) -> None:
    await client.get(f"{STOCK}/price")


async def _price_of_one() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        await _price(client)


async def _prices() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        await asyncio.gather(*(_price(client) for _ in range(_AT_ONCE)))


@handler("loop_each", "shop", "/work")
async def loop_each(_: Request) -> Response:
    def work() -> None:
        for _each in range(int(LEVEL)):
            asyncio.run(_price_of_one())

    await asyncio.to_thread(work)
    return done()


@handler("one_loop", "shop", "/work")
async def one_loop(_: Request) -> Response:
    await asyncio.to_thread(asyncio.run, _prices())
    return done()


@handler("loop_each", "stock", "/price")
@handler("one_loop", "stock", "/price")
async def price(_: Request) -> Response:
    await query("SELECT price", 2)
    return done()
