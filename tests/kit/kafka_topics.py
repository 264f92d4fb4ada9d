"""Requests to a Kafka broker beside the records themselves: topics that exist, and how many records they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import NodeNotReadyError

TOPICS = ("skywalking-segments", "skywalking-logs", "skywalking-meters", "skywalking-managements")
"""Those that agents write to, if no test names others."""


async def administer(address: str, use: Callable[[Any], Any]) -> None:
    """Await what is done with a client of the broker's administration."""
    while True:
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        try:
            await admin.start()
            await use(admin)
        except NodeNotReadyError:  # a broker that has just started may not know its controller yet
            await asyncio.sleep(0.1)
        else:
            return
        finally:
            await admin.close()


async def create_topics(address: str, names: Iterable[str], partitions: int = 1) -> None:
    """Topics of one copy."""
    topics = [NewTopic(name, num_partitions=partitions, replication_factor=1) for name in names]
    await administer(address, lambda admin: admin.create_topics(topics))


async def count_records(address: str, topic: str, partitions: int = 1) -> int:
    """How many records a topic has taken, as its ends say."""
    consumer = AIOKafkaConsumer(bootstrap_servers=address)
    await consumer.start()
    try:
        ends = await consumer.end_offsets([TopicPartition(topic, number) for number in range(partitions)])
    finally:
        await consumer.stop()
    return sum(ends.values())
