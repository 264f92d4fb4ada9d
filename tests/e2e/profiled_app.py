"""A shop whose answers take a while, to be profiled: `uvicorn profiled_app:app`."""

from __future__ import annotations

import time
from typing import Any

import anyio
from fastapi import FastAPI

from swagent import exit_span, system_thread
from swagent.asgi import SkyWalkingMiddleware

application = FastAPI()


@application.get("/orders/{item}")
async def order(item: str, seconds: float) -> dict[str, Any]:
    """Look an item up, and compute its price."""
    stock = await (ask_stock(seconds) if item == "lamp" else ask_elsewhere(seconds))
    return {"item": item, "stock": stock, "price": compute_price(seconds / 4)}


@application.get("/threads")
async def threads() -> list[str]:
    """The names of the threads: one of them is the sampler's, while it looks."""
    return [each.name for each in system_thread.alive()]


async def ask_stock(seconds: float) -> int:
    with exit_span("stock/left", "stock:8002"):
        await anyio.sleep(seconds)
    return 3


async def ask_elsewhere(seconds: float) -> int:
    await anyio.sleep(seconds)
    return 0


def compute_price(seconds: float) -> int:
    until = time.monotonic() + seconds
    price = 0
    while time.monotonic() < until:
        price += 1
    return price


app = SkyWalkingMiddleware(application)
