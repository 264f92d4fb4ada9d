"""Kafka's clients: aiokafka in three ways, and confluent-kafka. Everything is acknowledged (`acks=all`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from aiokafka import AIOKafkaProducer

from .bench import Bench
from .records import BATCH, BINARY, IN_FLIGHT

_PARTITIONS = 3


def topic_of(name: str) -> str:
    """Each bench has a topic of its own, so that it can be counted."""
    return "clients-" + "".join(each if each.isalnum() else "-" for each in name)


ONE_BY_ONE = "aiokafka, send_and_wait for each"
TOGETHER = "aiokafka, a batch of sends awaited together"
BATCHES = "aiokafka, create_batch and send_batch"
CONFLUENT = "confluent-kafka, produce and poll"


async def _one_by_one(address: str, seconds: float) -> int:
    sent, until = 0, time.monotonic() + seconds
    async with AIOKafkaProducer(bootstrap_servers=address, acks="all") as producer:
        while time.monotonic() < until:
            await producer.send_and_wait(topic_of(ONE_BY_ONE), BINARY, key=b"key")
            sent += 1
    return sent


async def _together(address: str, seconds: float) -> int:
    sent, until = 0, time.monotonic() + seconds
    async with AIOKafkaProducer(bootstrap_servers=address, acks="all", max_batch_size=1 << 20) as producer:

        async def keep_sending() -> None:
            nonlocal sent
            while time.monotonic() < until:
                pending = [await producer.send(topic_of(TOGETHER), BINARY, key=b"key") for _ in range(BATCH)]
                await asyncio.gather(*pending)
                sent += BATCH

        await asyncio.gather(*(keep_sending() for _ in range(IN_FLIGHT)))
    return sent


async def _batches(address: str, seconds: float) -> int:
    sent, until = 0, time.monotonic() + seconds
    async with AIOKafkaProducer(bootstrap_servers=address, acks="all", max_batch_size=1 << 20) as producer:

        async def keep_sending(partition: int) -> None:
            nonlocal sent
            while time.monotonic() < until:
                batch = producer.create_batch()
                for _ in range(BATCH):
                    assert batch.append(key=b"key", value=BINARY, timestamp=None) is not None
                await (await producer.send_batch(batch, topic_of(BATCHES), partition=partition))
                sent += BATCH

        await asyncio.gather(*(keep_sending(number % _PARTITIONS) for number in range(IN_FLIGHT)))
    return sent


async def _confluent(address: str, seconds: float) -> int:
    from confluent_kafka import Producer  # type: ignore[import-not-found, unused-ignore]

    producer = Producer({"bootstrap.servers": address, "acks": "all"})
    topic, confirmed, until = topic_of(CONFLUENT), 0, time.monotonic() + seconds

    def confirm(error: object, _: object) -> None:
        nonlocal confirmed
        assert error is None, error
        confirmed += 1

    # its own threads do the work; the loop is let go of for each batch, as it has to be in an application
    while time.monotonic() < until:
        for _ in range(BATCH):
            try:
                producer.produce(topic, BINARY, key=b"key", on_delivery=confirm)
            except BufferError:
                break
        producer.poll(0)
        await asyncio.sleep(0 if len(producer) < 50_000 else 0.001)
    while len(producer):
        producer.poll(0)
        await asyncio.sleep(0.001)
    return confirmed


BENCHES: Mapping[str, Bench] = {
    ONE_BY_ONE: _one_by_one,
    TOGETHER: _together,
    BATCHES: _batches,
    CONFLUENT: _confluent,
}
