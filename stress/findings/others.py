"""More of both, written after the engine had been adjusted to the first ones: what it makes of them says more."""

from __future__ import annotations

import asyncio
import time

import httpx
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import swagent

from .handlers import (
    GENERATION,
    LEVEL,
    PARTNER,
    asks_database,
    asks_stock,
    client,
    compute,
    done,
    handler,
    is_chosen,
    number,
    part,
    query,
    rate,
)  # fmt: skip

ASK_STOCK = ("two_deep", "prices", "more_errors", "inner_deadline", "rare", "cold_cache", "afterwards", "bad_requests")
for _case in ASK_STOCK:
    handler(_case, "shop", "/work")(asks_stock)
    handler(_case, "stock", "/part")(asks_database)
LOCK = asyncio.Lock()


async def cached(ms: float) -> None:
    """Ask a cache."""
    with swagent.cache_span("GET item", "redis:6379", type="redis"):
        await asyncio.sleep(ms / 1000)


@handler("cache", "shop", "/work")
async def cache(request: Request) -> Response:
    await cached(LEVEL if is_chosen(request) else 2)
    await query("SELECT user", 10)
    return done()


@handler("two_deep", "stock", "/part")
async def two_deep(request: Request) -> Response:
    await query("SELECT user", 5)
    await rate(LEVEL if is_chosen(request) else 8)
    return done()


@handler("lock", "shop", "/work")
async def lock(_: Request) -> Response:
    async with LOCK:
        await query("SELECT user", 3)
    return done()


@handler("lock", "shop", "/report")
async def report(_: Request) -> Response:
    async with LOCK:
        await asyncio.sleep(LEVEL / 1000)
    return done()


@handler("slow_thread", "shop", "/work")
async def slow_thread(request: Request) -> Response:
    await asyncio.to_thread(time.sleep, (LEVEL if is_chosen(request) else 4) / 1000)
    return done()


@handler("parsing", "shop", "/work")
async def parsing(request: Request) -> Response:
    await query("SELECT user", 3)
    compute(LEVEL if is_chosen(request) else 2)
    return done()


@handler("cached_items", "shop", "/work")
async def cached_items(_: Request) -> Response:
    for _each in range(int(LEVEL)):
        await cached(2)
    return done()


@handler("prices", "stock", "/part")
async def prices(_: Request) -> Response:
    await query("SELECT lines", 4)
    for _each in range(int(LEVEL)):
        await query("SELECT price", 3)
    return done()


@handler("impatient", "shop", "/work")
async def impatient(request: Request) -> Response:
    for _each in range(int(LEVEL)):
        try:
            await client.get(f"{PARTNER}/rate", params={"ms": 500 if is_chosen(request) else 5}, timeout=0.05)
        except httpx.TimeoutException:
            continue
        return done()
    return JSONResponse({}, 504)


@handler("own_error", "shop", "/work")
async def own_error(request: Request) -> Response:
    await query("SELECT user", 3)
    if is_chosen(request, int(LEVEL)):
        raise KeyError("tenant")
    return done()


@handler("partner_away", "shop", "/work")
async def partner_away(request: Request) -> Response:
    await client.get("http://127.0.0.1:9/rate" if is_chosen(request, int(LEVEL)) else f"{PARTNER}/rate")
    return done()


@handler("more_errors", "stock", "/part")
async def more_errors(request: Request) -> Response:
    await query("SELECT balance", 5)
    if GENERATION == 2 and is_chosen(request, int(LEVEL)):
        raise RuntimeError("a new mistake")
    return done()


@handler("inner_deadline", "stock", "/part")
async def inner_deadline(request: Request) -> Response:
    try:
        await asyncio.wait_for(rate(LEVEL if is_chosen(request) else 5), 0.1)
    except asyncio.TimeoutError:
        return JSONResponse({}, 504)
    return done()


@handler("two_speeds", "shop", "/work")
async def two_speeds(request: Request) -> Response:
    await query("SELECT balance", 60 if is_chosen(request, 2) else 5)
    return done()


@handler("rare", "stock", "/part")
async def rare(request: Request) -> Response:
    await query("SELECT balance", 300 if number(request) == 50 else 8)
    return done()


@handler("nine", "shop", "/work")
async def nine(_: Request) -> Response:
    for _each in range(9):
        await query("SELECT part", 4)
    return done()


@handler("cold_cache", "stock", "/part")
async def cold_cache(request: Request) -> Response:
    await query("SELECT balance", 200 if number(request) < 6 else 8)
    return done()


@handler("afterwards", "shop", "/work")
async def afterwards(request: Request) -> Response:
    async def mail() -> None:
        await query("INSERT mail", 200)

    await part(request)
    return JSONResponse({}, background=BackgroundTask(mail))


@handler("bad_requests", "shop", "/work")
async def bad_requests(request: Request) -> Response:
    await part(request)
    if is_chosen(request, 3):
        raise HTTPException(422, "no such item")
    return done()


@handler("all_compute", "shop", "/work")
async def all_compute(_: Request) -> Response:
    compute(15)
    return done()


@handler("two_at_once", "shop", "/work")
async def two_at_once(_: Request) -> Response:
    await asyncio.gather(rate(40), query("SELECT user", 50))
    return done()
