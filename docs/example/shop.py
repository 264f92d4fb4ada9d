"""The shop: FastAPI, httpx and SQLite. It takes orders, and has the stock service take the item off the shelf.

There is nothing of swagent in it: `swagent run` shows what it does.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import anyio
import httpx
from fastapi import BackgroundTasks, FastAPI, HTTPException
from fastapi.concurrency import run_in_threadpool

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
logging.getLogger("httpx").setLevel(logging.WARNING)

DATABASE = os.environ.get("DATABASE", "shop.sqlite")
STOCK = os.environ.get("STOCK", "127.0.0.1:8002")
COURIER = os.environ.get("COURIER", "127.0.0.1:8004")
SCARCE = 3
PRICES = {"lamp": 12, "chair": 35, "desk": 90, "kettle": 20, "sofa": 400, "umbrella": 8}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client for all requests: to make one takes longer than to ask."""
    await run_in_threadpool(prepare_database)
    async with httpx.AsyncClient(base_url=f"http://{STOCK}", trust_env=False, timeout=20) as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)
log = logging.getLogger("shop")


@app.get("/orders/{item}")
async def order(item: str, afterwards: BackgroundTasks) -> dict[str, object]:
    """Order one item."""
    price = await run_in_threadpool(find_price, item)
    answer = await app.state.client.post(f"/stock/{item}")
    if answer.is_error:
        log.error("no answer from the stock about %s", item)
        raise HTTPException(502, "the stock service does not know")
    left = answer.json()["left"]
    if left < SCARCE:
        log.warning("only %d of %s left", left, item)
    afterwards.add_task(note_order, item, price)
    return {"item": item, "price": price, "left": left}


@app.get("/catalogue")
async def catalogue() -> dict[str, object]:
    """The stock of some items, asked for all at once."""
    items = ("lamp", "chair", "desk", "kettle")
    found: dict[str, object] = dict.fromkeys(items)

    async def ask(item: str) -> None:
        found[item] = (await app.state.client.get(f"/stock/{item}")).json()

    async with anyio.create_task_group() as group:
        for item in items:
            group.start_soon(ask, item)
    return found


@app.get("/deliveries/{item}")
async def delivery(item: str) -> dict[str, object]:
    """In how many days the courier brings an item."""
    answer = await app.state.client.get(f"http://{COURIER}/deliveries/{item}")
    if answer.is_error:
        raise HTTPException(502, "the courier does not know")
    return {"item": item, "days": answer.json()["days"]}


@app.get("/report")
async def report() -> dict[str, int]:
    """The takings. A mistake that is easily made: while it prints, no other request of the shop goes on."""
    takings = await run_in_threadpool(sum_orders)
    print_report()
    return {"takings": takings}


def print_report() -> None:
    """There is no printer: this only takes as long as if there were a slow one."""
    time.sleep(0.2)


def prepare_database() -> None:
    """Make the tables where they are missing, and fill them."""
    with closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS prices (item TEXT PRIMARY KEY, price INTEGER)")
        database.execute("CREATE TABLE IF NOT EXISTS orders (item TEXT, price INTEGER)")
        database.executemany("INSERT OR IGNORE INTO prices VALUES (?, ?)", PRICES.items())


def find_price(item: str) -> int:
    """The price of one item."""
    with closing(sqlite3.connect(DATABASE)) as database:
        row = database.execute("SELECT price FROM prices WHERE item = ?", (item,)).fetchone()
    if row is None:
        raise HTTPException(404, "the shop does not sell that")
    price: int = row[0]
    return price


def note_order(item: str, price: int) -> None:
    """Keep an order, once the customer has the answer."""
    with closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute("INSERT INTO orders VALUES (?, ?)", (item, price))


def sum_orders() -> int:
    """The total value of all orders."""
    with closing(sqlite3.connect(DATABASE)) as database:
        [takings] = database.execute("SELECT coalesce(sum(price), 0) FROM orders").fetchone()
    return int(takings)
