"""The shop: takes orders, and asks the stock service over HTTP before it confirms one."""

from __future__ import annotations

import logging
import os

import httpx
from fastapi import FastAPI, HTTPException

from swagent import exit_span, local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.meters import Counter

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
logging.getLogger("httpx").setLevel(logging.WARNING)

SCARCE = 3
STOCK = os.environ.get("STOCK", "127.0.0.1:8002")

app = FastAPI()
log = logging.getLogger("shop")
orders = Counter("shop_orders")


@app.get("/orders/{item}")
async def order(item: str) -> dict[str, object]:
    """Order one item."""
    orders.increment()
    with local_span("price") as span:
        price = 3 * len(item)
        span.tag("price", price)
    with exit_span("GET:/stock", peer=STOCK) as span:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"http://{STOCK}/stock/{item}", headers=span.headers())
        span.tag("http.status_code", answer.status_code)
        if answer.is_error:
            span.error()
    if answer.status_code != httpx.codes.OK:
        log.error("no answer from the stock about %s", item)
        raise HTTPException(502, "the stock service does not know")
    left = answer.json()["left"]
    if left < SCARCE:
        log.warning("only %d of %s left", left, item)
    return {"item": item, "price": price, "left": left}


app.add_middleware(SkyWalkingMiddleware)
