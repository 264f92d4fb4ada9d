"""A shop that makes its spans and meters by hand: it asks the stock service over HTTP before it confirms an order."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, HTTPException

from swagent import exit_span, local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.meters import Counter, Histogram

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
logging.getLogger("httpx").setLevel(logging.WARNING)

SCARCE = 3
STOCK = os.environ.get("STOCK", "127.0.0.1:8002")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client for all requests: to make one takes longer than to ask."""
    async with httpx.AsyncClient(base_url=f"http://{STOCK}", trust_env=False, timeout=20) as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)
log = logging.getLogger("shop")
orders = Counter("shop_orders")
order_duration = Histogram("shop_order_duration_ms", [0, 5, 10, 25, 50, 100, 250, 500, 1000])


@app.get("/orders/{item}")
async def order(item: str) -> dict[str, object]:
    """Order one item."""
    orders.increment()
    with order_duration.timer(unit="ms"):
        price = price_of(item)
        answer = await ask_stock(item)
    if answer.status_code != httpx.codes.OK:
        log.error("no answer from the stock about %s", item)
        raise HTTPException(502, "the stock service does not know")
    left = answer.json()["left"]
    if left < SCARCE:
        log.warning("only %d of %s left", left, item)
    return {"item": item, "price": price, "left": left}


def price_of(item: str) -> int:
    """The price of one item."""
    with local_span("price") as span:
        price = 3 * len(item)
        span.tag("price", price)
    return price


async def ask_stock(item: str) -> httpx.Response:
    """The answer of the stock service about an item."""
    with exit_span("GET:/stock", peer=STOCK) as span:
        answer: httpx.Response = await app.state.client.get(f"/stock/{item}", headers=span.headers())
        span.tag("http.status_code", answer.status_code)
        if answer.is_error:
            span.error()
    return answer


app.add_middleware(SkyWalkingMiddleware)
