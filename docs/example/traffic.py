"""Customers of the demo's shop: what they ask for, and how often."""

from __future__ import annotations

import asyncio
import random

import httpx

CUSTOMERS = 3
# seconds that a customer thinks, on average
PAUSE = 0.8
# most is quick; sofas take long, umbrellas fail, and while the report is printed all others wait
WISHES = {
    "/orders/lamp": 10,
    "/orders/chair": 5,
    "/orders/desk": 5,
    "/catalogue": 4,
    "/deliveries/desk": 4,
    "/orders/sofa": 4,
    "/orders/umbrella": 2,
    "/report": 1,
}


async def send_traffic(client: httpx.AsyncClient) -> None:
    """A few requests a second, until it is cancelled.

    :raises httpx.HTTPError: when the shop does not answer
    """
    await asyncio.gather(*(_shop(client) for _ in range(CUSTOMERS)))


async def _shop(client: httpx.AsyncClient) -> None:
    while True:
        await asyncio.sleep(random.expovariate(1 / PAUSE))
        [path] = random.choices(list(WISHES), list(WISHES.values()))
        await client.get(path)
