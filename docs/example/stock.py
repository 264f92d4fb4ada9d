"""The stock: tells how many pieces of an item are left; it does not know umbrellas, and fails over them."""

from __future__ import annotations

import logging
import random

import anyio
from fastapi import FastAPI

from swagent import exit_span, trace
from swagent.asgi import SkyWalkingMiddleware

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")

app = FastAPI()
log = logging.getLogger("stock")

SHELVES = {"lamp": 7, "chair": 2, "desk": 4, "kettle": 12}
ON_DEMAND = {"sofa"}


@trace("count pieces")
async def count(item: str) -> int:
    """How many pieces are left; takes as long as if a database knew."""
    await anyio.sleep(random.uniform(0.003, 0.03))
    return SHELVES[item]


async def ask_warehouse(item: str) -> int:
    """How many pieces could be made. There is no warehouse: this only takes as long as if there were one."""
    with exit_span("GET:/pieces", peer="warehouse:8080") as span:
        span.tag("item", item)
        seconds = random.uniform(0.15, 0.9)
        await anyio.sleep(seconds)
    log.warning("the warehouse took %.0f ms over %s", seconds * 1000, item)
    return 100


@app.get("/stock/{item}")
async def stock(item: str) -> dict[str, int]:
    """What is left of one item."""
    return {"left": await (ask_warehouse(item) if item in ON_DEMAND else count(item))}


app.add_middleware(SkyWalkingMiddleware)
