"""A FastAPI service that knows nothing of any agent: it asks a database, a cache and another service, and sends a
message."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import redis.asyncio
from aiokafka import AIOKafkaProducer
from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The clients that all requests share."""
    app.state.engine = create_async_engine(os.environ["DATABASE"])
    app.state.cache = redis.asyncio.Redis.from_url(os.environ["CACHE"])
    app.state.producer = AIOKafkaProducer(bootstrap_servers=os.environ["BROKER"])
    app.state.client = httpx.AsyncClient(base_url=os.environ["STOCK"], trust_env=False)
    await app.state.producer.start()
    yield
    await app.state.client.aclose()
    await app.state.producer.stop()
    await app.state.cache.aclose()
    await app.state.engine.dispose()


app = FastAPI(lifespan=lifespan)


@app.get("/orders/{item}")
async def order(item: str) -> dict[str, object]:
    """Order one item."""
    async with app.state.engine.connect() as connection:
        price = (await connection.execute(text("SELECT length(:item) * 3"), {"item": item})).scalar_one()
    ordered = await app.state.cache.incr(f"ordered:{item}")
    left = (await app.state.client.get(f"/stock/{item}")).json()["left"]
    await app.state.producer.send_and_wait("orders", item.encode())
    return {"item": item, "price": price, "left": left, "ordered": ordered}
