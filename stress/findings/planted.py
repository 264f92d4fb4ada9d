"""The planted causes: the handlers of cases in which something has to be found."""

from __future__ import annotations

import asyncio
from contextvars import Context

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .handlers import (
    GENERATION,
    LEVEL,
    STOCK,
    OutOfStock,
    asks_database,
    asks_stock,
    client,
    compact,
    compute,
    done,
    handler,
    is_chosen,
    part,
    print_report,
    query,
    rate,
    rows,
)  # fmt: skip

ASK_STOCK = ("database", "slow_together", "from_the_start", "deadline", "report", "background", "callback",
             "downstream", "hidden", "sibling", "stock", "deployment")  # fmt: skip
for _case in ASK_STOCK:
    handler(_case, "shop", "/work")(asks_stock)
    handler(_case, "stock", "/part")(asks_database)


@handler("database", "stock", "/part")
async def database(request: Request) -> Response:
    await query("SELECT balance", LEVEL if is_chosen(request) else 8)
    return done()


@handler("slow_together", "stock", "/part")
async def slow_together(request: Request) -> Response:
    await query("SELECT balance", 8 if is_chosen(request, 3) else LEVEL)
    return done()


@handler("from_the_start", "stock", "/part")
async def from_the_start(_: Request) -> Response:
    await query("SELECT balance", LEVEL)
    return done()


@handler("partner", "shop", "/work")
async def partner(request: Request) -> Response:
    await rate(LEVEL if is_chosen(request) else 8)
    return done()


@handler("thread", "shop", "/work")
async def thread(request: Request) -> Response:
    await run_in_threadpool(compute, LEVEL if is_chosen(request) else 5)
    return done()


@handler("chunks", "shop", "/work")
async def chunks(request: Request) -> Response:
    for _ in range(int(LEVEL / 5) if is_chosen(request) else 1):
        compute(5)
        await asyncio.sleep(0)
    return done()


@handler("queue", "shop", "/work")
async def queue(request: Request) -> Response:
    orders: asyncio.Queue[int] = asyncio.Queue()
    asyncio.get_running_loop().call_later(LEVEL / 1000 if is_chosen(request) else 0.005, orders.put_nowait, 1)
    await orders.get()
    return done()


@handler("report", "shop", "/report")
@handler("hidden", "shop", "/report")
@handler("downstream", "stock", "/report")
async def report(_: Request) -> Response:
    print_report()
    return done()


@handler("background", "shop", "/work")
async def background(request: Request) -> Response:
    async def task() -> None:
        compact()

    if is_chosen(request, 20):  # in a context of its own: it has nothing to do with the request
        KEPT.append(Context().run(asyncio.create_task, task()))
    return await asks_stock(request)


@handler("callback", "shop", "/work")
async def callback(request: Request) -> Response:
    if is_chosen(request, 20):
        asyncio.get_running_loop().call_soon(compact)
    return await asks_stock(request)


KEPT: list[asyncio.Task[None]] = []


@handler("hidden", "shop", "/work")
async def hidden(_: Request) -> Response:
    for _each in range(3):
        await rate(5)
    return done()


@handler("downstream", "shop", "/work")
async def downstream(request: Request) -> Response:
    if is_chosen(request):
        await part(request, "/report")
    await part(request)
    return done()


@handler("queries", "shop", "/work")
async def queries(_: Request) -> Response:
    rows(int(LEVEL))
    return done()


@handler("items", "shop", "/work")
async def items(_: Request) -> Response:
    for each in range(int(LEVEL)):
        await client.get(f"{STOCK}/items/name-{each}")
    return done()


@handler("items", "stock", "/items/{item}")
async def item(_: Request) -> Response:
    await query("SELECT item", 2)
    return done()


@handler("retries", "shop", "/work")
async def retries(request: Request) -> Response:
    answer = await part(request)
    tries = 1
    while answer.is_error and tries < LEVEL:
        answer = await part(request)
        tries += 1
    return JSONResponse({}, 502 if answer.is_error else 200)


@handler("retries", "stock", "/part")
async def refusing(request: Request) -> Response:
    await query("SELECT balance", 3)
    return JSONResponse({}, 503 if is_chosen(request) else 200)


@handler("stock", "shop", "/work")
async def ordering(request: Request) -> Response:
    answer = await part(request)
    answer.raise_for_status()
    return done()


@handler("stock", "stock", "/part")
async def empty(request: Request) -> Response:
    await query("SELECT stock", 3)
    if is_chosen(request, int(LEVEL)):
        raise OutOfStock("there is none")
    return done()


@handler("deadline", "shop", "/work")
async def deadline(request: Request) -> Response:
    try:
        await asyncio.wait_for(part(request), 0.1)
    except asyncio.TimeoutError:
        return JSONResponse({}, 504)
    return done()


@handler("deadline", "stock", "/part")
async def late(request: Request) -> Response:
    await asyncio.sleep(LEVEL / 1000 if is_chosen(request) else 0.005)
    return done()


@handler("sibling", "shop", "/work")
async def sibling(request: Request) -> Response:
    async def check() -> None:
        await asyncio.sleep(0.02)
        if is_chosen(request, int(LEVEL)):
            raise ValueError("a wrong order")

    tasks = [asyncio.ensure_future(part(request)), asyncio.ensure_future(check())]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return done()


@handler("sibling", "stock", "/part")
async def half_a_second(_: Request) -> Response:
    await asyncio.sleep(0.06)
    return done()


@handler("deployment", "stock", "/part")
async def deployment(_: Request) -> Response:
    await query("SELECT balance", 10 if GENERATION == 1 else LEVEL)
    return done()


@handler("sequence", "shop", "/work")
async def sequence(request: Request) -> Response:
    await part(request)
    await rate(LEVEL)
    return done()


@handler("sequence", "stock", "/part")
async def user(_: Request) -> Response:
    await query("SELECT user", LEVEL)
    return done()


@handler("losses", "shop", "/work")
async def flood(request: Request) -> Response:
    from swagent import entry_span

    if is_chosen(request):
        for _ in range(int(LEVEL)):
            with entry_span("flood"):
                pass
    return done()


@handler("small_pool", "shop", "/work")
async def small_pool(request: Request) -> Response:
    async with POOL:
        await query("SELECT balance", LEVEL if is_chosen(request, 4) else 8)
    return done()


POOL = asyncio.Semaphore(2)
