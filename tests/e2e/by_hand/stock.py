"""A stock that makes its spans by hand. It does not know umbrellas, and fails over them."""

from __future__ import annotations

import logging

import anyio
from fastapi import FastAPI

from swagent import trace
from swagent.asgi import SkyWalkingMiddleware

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")

app = FastAPI()
log = logging.getLogger("stock")

SHELVES = {"lamp": 7, "chair": 2}


@trace("count pieces")
async def count(item: str) -> int:
    """How many pieces are left; takes as long as if a database knew."""
    await anyio.sleep(0.003)
    return SHELVES[item]


@app.get("/stock/{item}")
async def stock(item: str) -> dict[str, int]:
    """The number left of one item."""
    return {"left": await count(item)}


app.add_middleware(SkyWalkingMiddleware)
