"""The stock: Starlette, SQLite and urllib. It knows how many pieces are on the shelf, and gets more from the warehouse.

There is nothing of swagent in it: `swagent run` shows what it does.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")

DATABASE = os.environ.get("DATABASE", "stock.sqlite")
WAREHOUSE = os.environ.get("WAREHOUSE", "127.0.0.1:8003")
SHELVES = {"lamp": 7, "chair": 3, "desk": 4, "kettle": 12, "sofa": 0, "umbrella": 0}

# straight to the warehouse, whatever proxy the environment names
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
log = logging.getLogger("stock")


def count(request: Request) -> JSONResponse:
    """The number of pieces that are left of one item."""
    return JSONResponse({"left": pieces_of(request.path_params["item"])})


def take(request: Request) -> JSONResponse:
    """Take one piece off the shelf, which is filled first where it is empty. It cannot be for umbrellas: that fails."""
    item = request.path_params["item"]
    more = 0 if pieces_of(item) else fetch_from_warehouse(item)
    with closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute("UPDATE shelves SET pieces = pieces + ? WHERE item = ?", (more - 1, item))
    return JSONResponse({"left": pieces_of(item)})


def pieces_of(item: str) -> int:
    """How many pieces are on the shelf."""
    with closing(sqlite3.connect(DATABASE)) as database:
        row = database.execute("SELECT pieces FROM shelves WHERE item = ?", (item,)).fetchone()
    return row[0] if row else 0


def fetch_from_warehouse(item: str) -> int:
    """How many pieces the warehouse sends."""
    log.warning("no %s is left; the warehouse is asked for more", item)
    with opener.open(f"http://{WAREHOUSE}/pieces/{item}", timeout=20) as answer:
        pieces: int = json.load(answer)["pieces"]
    return pieces


def prepare_database() -> None:
    """Make the table where it is missing, and fill it."""
    with closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS shelves (item TEXT PRIMARY KEY, pieces INTEGER CHECK (pieces >= 0))"
        )
        database.executemany("INSERT OR IGNORE INTO shelves VALUES (?, ?)", SHELVES.items())


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """The shelves are there before the first request."""
    await run_in_threadpool(prepare_database)
    yield


routes = [Route("/stock/{item}", count, methods=["GET"]), Route("/stock/{item}", take, methods=["POST"])]
app = Starlette(lifespan=lifespan, routes=routes)
