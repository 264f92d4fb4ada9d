"""The common parts of the two services' handlers. Clients ask `shop`; `shop` asks `stock`, and a partner without
an agent.

Waits are waits by design: they stand in for databases and partners whose time is known.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import Awaitable, Callable

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import swagent

from .lateness import held

LEVEL = float(os.environ.get("FINDINGS_LEVEL", "0"))
GENERATION = int(os.environ.get("FINDINGS_GENERATION", "1"))
STOCK, PARTNER = os.environ.get("FINDINGS_STOCK", ""), os.environ.get("FINDINGS_PARTNER", "")
Handler = Callable[[Request], Awaitable[Response] | Response]
Handlers = dict[str, dict[str, Handler]]
FOUND: dict[str, Handlers] = {}
"""By case, the handlers of each path of each service."""
client = httpx.AsyncClient(trust_env=False, timeout=20, limits=httpx.Limits(max_keepalive_connections=0))


class OutOfStock(Exception):
    """The exception that `stock` raises."""


def handler(case: str, service: str, path: str) -> Callable[[Handler], Handler]:
    """Note a function as the handler of a path."""

    def note(function: Handler) -> Handler:
        FOUND.setdefault(case, {}).setdefault(service, {})[path] = function
        return function

    return note


def number(request: Request) -> int:
    """The number of a request."""
    return int(request.query_params.get("n", "0"))


def is_chosen(request: Request, every: int = 10) -> bool:
    """Whether something is amiss in this request."""
    return number(request) % every == every - 1


async def query(statement: str, ms: float, peer: str = "ledger-db:5432") -> None:
    """A query of a database whose time is known."""
    with swagent.database_span(statement, peer, type="postgresql"):
        await asyncio.sleep(ms / 1000)


async def part(request: Request, path: str = "/part", **options: float) -> httpx.Response:
    """Ask `stock`."""
    return await client.get(f"{STOCK}{path}", params={"n": number(request)}, **options)  # type: ignore[arg-type]


async def rate(ms: float) -> None:
    """Ask the partner, who takes so many milliseconds."""
    await client.get(f"{PARTNER}/rate", params={"ms": ms})


def done() -> Response:
    """An answer without anything in it."""
    return JSONResponse({})


def compute(ms: float) -> None:
    """Use the processor for some milliseconds."""
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        sum(range(500))


def print_report() -> None:
    """There is no printer: this only takes as long as if there were a slow one."""
    time.sleep(LEVEL / 1000)
    held(LEVEL)


def compact() -> None:
    """As `print_report`, outside of any request."""
    time.sleep(LEVEL / 1000)
    held(LEVEL)


async def asks_stock(request: Request) -> Response:
    """The usual work of `shop`: it asks `stock`."""
    await part(request)
    return done()


async def asks_database(_: Request) -> Response:
    """The usual work of `stock`: a query of 8 ms."""
    await query("SELECT balance", 8)
    return done()


def spread() -> float:
    """Milliseconds that are another number each time, and sometimes twice the median."""
    return min(8 * random.lognormvariate(0, 0.35), 20)


def rows(count: int) -> list[str]:
    """One query for each row, of a database in memory."""
    database = sqlite3.connect(":memory:")
    try:
        database.create_function("far", 1, _far, deterministic=True)
        database.execute("CREATE TABLE items (id INTEGER, name TEXT)")
        database.executemany("INSERT INTO items VALUES (?, ?)", [(each, f"item {each}") for each in range(count)])
        found = database.execute("SELECT id FROM items").fetchall()
        return [_name(database, each) for (each,) in found]
    finally:
        database.close()


def _name(database: sqlite3.Connection, item: int) -> str:
    [name] = database.execute("SELECT name FROM items WHERE id = far(?)", (item,)).fetchone()
    return str(name)


def _far(item: int) -> int:
    time.sleep(0.002)  # as far away as a server is
    held(2)
    return item
