"""A consumer that knows nothing of any agent: it counts the orders in a cache."""

from __future__ import annotations

import asyncio
import os

import redis.asyncio
from aiokafka import AIOKafkaConsumer


async def main() -> None:
    """Consume until terminated."""
    cache = redis.asyncio.Redis.from_url(os.environ["CACHE"])
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=os.environ["BROKER"], group_id="audit", auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        async for message in consumer:
            await cache.incr(f"audited:{message.value.decode()}")
    finally:
        await consumer.stop()
        await cache.aclose()


if __name__ == "__main__":
    asyncio.run(main())
