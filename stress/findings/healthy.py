"""Healthy variants: the handlers of cases that look a little like a cause, and in which nothing is amiss."""

from __future__ import annotations

import asyncio
import sqlite3

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import swagent

from .handlers import (
    STOCK,
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
    spread,
)  # fmt: skip

for _case in ("calm", "always_long", "together", "one_retry", "not_found", "same_deployment", "spread", "dependent"):
    handler(_case, "shop", "/work")(asks_stock)
    handler(_case, "stock", "/part")(asks_database)


@handler("always_long", "stock", "/part")
async def always_long(_: Request) -> Response:
    await query("SELECT sum", 400)
    return done()


@handler("together", "shop", "/work")
async def together(request: Request) -> Response:
    await asyncio.gather(*(part(request) for _ in range(12)))
    return done()


@handler("five_queries", "shop", "/work")
async def five_queries(_: Request) -> Response:
    for table in ("users", "orders", "lines", "prices", "taxes"):
        await query(f"SELECT {table}", 3)
    return done()


@handler("one_batch", "shop", "/work")
async def one_batch(_: Request) -> Response:
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE TABLE items (id INTEGER)")
        database.executemany("INSERT INTO items VALUES (?)", [(each,) for each in range(200)])
        database.execute("SELECT id FROM items").fetchall()
    finally:
        database.close()
    return done()


@handler("one_retry", "shop", "/work")
async def one_retry(request: Request) -> Response:
    answer = await part(request)
    if answer.is_error:
        await client.get(f"{STOCK}/part", params={"n": 0})
    return done()


@handler("one_retry", "stock", "/part")
async def rarely_refusing(request: Request) -> Response:
    return JSONResponse({}, 503 if is_chosen(request, 30) else 200)


@handler("not_found", "stock", "/part")
async def not_found(request: Request) -> Response:
    await query("SELECT item", 4)
    return JSONResponse({}, 404 if is_chosen(request, 3) else 200)


@handler("cache_misses", "shop", "/work")
async def cache_misses(request: Request) -> Response:
    try:
        with swagent.cache_span("EVALSHA", "redis:6379", type="redis"):
            await asyncio.sleep(0.002)
            if is_chosen(request, 3):
                raise LookupError("NOSCRIPT")
    except LookupError:
        with swagent.cache_span("EVAL", "redis:6379", type="redis"):
            await asyncio.sleep(0.002)
    return done()


@handler("short_work", "shop", "/work")
async def short_work(_: Request) -> Response:
    compute(8)
    return done()


@handler("steady_thread", "shop", "/work")
async def steady_thread(_: Request) -> Response:
    await run_in_threadpool(compute, 40)
    return done()


@handler("spread", "stock", "/part")
async def spreading(_: Request) -> Response:
    await query("SELECT balance", spread())
    return done()


@handler("long_poll", "shop", "/work")
async def long_poll(_: Request) -> Response:
    await asyncio.sleep(0.4)
    return done()


@handler("sizes", "shop", "/work")
async def sizes(request: Request) -> Response:
    await query("SELECT rows", 10 + number(request) % 10 * 2)
    return done()


@handler("writes", "shop", "/work")
async def writes(_: Request) -> Response:
    await client.post(f"{STOCK}/part")
    await rate(40)
    return done()


@handler("writes", "stock", "/part")
async def writing(_: Request) -> Response:
    await query("INSERT order", 40)
    return done()


@handler("dependent", "shop", "/work")
async def dependent(request: Request) -> Response:
    answer = await part(request)
    await rate(float(answer.json()["ms"]))
    return done()


@handler("dependent", "stock", "/part")
async def says_what_is_next(_: Request) -> Response:
    await query("SELECT user", 60)
    return JSONResponse({"ms": 60})


@handler("pages", "shop", "/work")
async def pages(_: Request) -> Response:
    for _each in range(12):
        await query("SELECT page", 5)
    return done()


@handler("short_lock", "shop", "/work")
async def short_lock(_: Request) -> Response:
    async with LOCK:
        await query("SELECT user", 3)
    return done()


LOCK = asyncio.Lock()
