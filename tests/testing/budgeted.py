"""Applications with one regression each, and their like without it, for the tests of the fixture `trace`."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from swagent import exit_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.profile.loop_watch import LoopWatch
from swagent.wsgi import SkyWalkingMiddleware as WsgiMiddleware

SHORT_MS = 50
"""A budget of time that a hold and a wait exceed."""
PLENTY_MS = 30_000
"""One that nothing exceeds, not even on a machine that is busy."""
ORDERS = 20
LINES = "SELECT item FROM lines WHERE order_id = ?"


def database() -> sqlite3.Connection:
    """A new one, in memory, with a table of orders."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE lines (order_id INTEGER, item TEXT)")
    return connection


def lines_of_each(connection: sqlite3.Connection) -> list[Any]:
    """One query for each order."""
    return [connection.execute(LINES, (number,)).fetchall() for number in range(ORDERS)]


def lines_of_all(connection: sqlite3.Connection) -> list[Any]:
    """One query."""
    return connection.execute("SELECT order_id, item FROM lines").fetchall()


def hold() -> None:
    """Hold the loop of this thread until its watch has seen it held for twice `SHORT_MS`, whenever it gets to look."""
    here, is_seen = threading.get_ident(), threading.Event()
    look = LoopWatch._look

    def looked(watch: LoopWatch, holds: dict[int, Any], *more: Any) -> None:
        look(watch, holds, *more)
        if watch.thread == here and sum(each.seconds for each in holds.values()) * 1000 >= 2 * SHORT_MS:
            is_seen.set()

    with mock.patch.object(LoopWatch, "_look", looked):
        is_seen.wait(PLENTY_MS / 1000)  # if not, the budget is kept, and the test does not fail as it has to


async def stock(request: Request) -> JSONResponse:
    """Another service."""
    return JSONResponse({"item": request.path_params["item"]})


STOCK = SkyWalkingMiddleware(Starlette(routes=[Route("/items/{item}", stock)]))


async def ask_stock(*items: int) -> None:
    """One call for each item."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=STOCK), base_url="http://stock") as client:
        for item in items:
            await client.get(f"/items/{item}")


async def orders(request: Request) -> JSONResponse:
    """A request with what its query asks for."""
    wanted = request.query_params
    connection = database()
    if "each" in wanted:
        lines_of_each(connection)
    if "all" in wanted:
        lines_of_all(connection)
    if "blocks" in wanted:
        hold()
    if "waits" in wanted:
        await anyio.sleep(float(wanted["waits"]))
    if "stock" in wanted:
        await ask_stock(*range(int(wanted["stock"])))
    if "survives" in wanted:
        try_cache()
    connection.close()
    return JSONResponse({})


def try_cache() -> None:
    """A call that fails, which ends no request."""
    try:
        with exit_span("GET", peer="redis:6379"):
            raise ConnectionError("refused")
    except ConnectionError:
        pass


def shop() -> SkyWalkingMiddleware:
    """The application."""
    return SkyWalkingMiddleware(Starlette(routes=[Route("/orders", orders)]))


def wsgi_orders(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The same, for WSGI."""
    connection = database()
    (lines_of_each if environ["QUERY_STRING"] == "each" else lines_of_all)(connection)
    connection.close()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]


WSGI_SHOP = WsgiMiddleware(wsgi_orders)


async def get(app: Any, query: str) -> None:
    """Send a request to an application in this process and loop."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://shop") as client:
        await client.get(f"/orders?{query}")


ROOT = Path(__file__).parents[1]
