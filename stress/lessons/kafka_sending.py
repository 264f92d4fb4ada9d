"""The program that sends to Kafka in one of the ways: `python -m stress.lessons.kafka_sending WAY ADDRESS TOPIC COUNT`.

Prints one line of JSON, and ends as programs do: no way closes its client, so what no call waited for may be lost.
Each message has to be acknowledged by all copies (`acks=all`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_MESSAGE = b"x" * 100
_SECONDS = 120.0
_LONGEST = 20.0
"""Seconds after which a way that waits for each message stops early: what it has sent by then tells its rate."""


class Sent(NamedTuple):
    """The result of one way.

    :ivar messages: how many were handed to the client
    :ivar handed_over: seconds until the last of them was
    :ivar seconds: until the way has done its last call
    :ivar confirmed: how many messages the client said had arrived, until then
    """

    messages: int
    handed_over: float
    seconds: float
    confirmed: int


def _kafka_python(address: str, topic: str, count: int, *, each: bool) -> Sent:
    from kafka import KafkaProducer  # type: ignore[import-untyped, import-not-found, unused-ignore]

    producer = KafkaProducer(bootstrap_servers=address, acks="all")
    producer.partitions_for(topic)  # connected, and knows where to send
    sent = []
    began = time.perf_counter()
    for _ in range(count):
        sent.append(producer.send(topic, _MESSAGE))
        if each:
            sent[-1].get(timeout=_SECONDS)
            if time.perf_counter() - began > _LONGEST:
                break
    handed_over = time.perf_counter() - began
    producer.flush(timeout=_SECONDS)
    took = time.perf_counter() - began
    return Sent(len(sent), handed_over, took, sum(future.succeeded() for future in sent))


def _confluent(address: str, topic: str, count: int, *, polls: bool, flushes: bool) -> Sent:
    from confluent_kafka import Producer  # type: ignore[import-not-found, unused-ignore]

    producer = Producer({"bootstrap.servers": address, "acks": "all"})
    producer.list_topics(topic, timeout=_SECONDS)
    confirmed = 0

    def confirm(error: object, _: object) -> None:
        nonlocal confirmed
        confirmed += error is None

    def keep_polling() -> None:
        while True:
            producer.poll(0.1)

    if polls:
        threading.Thread(target=keep_polling, daemon=True).start()
    began = time.perf_counter()
    for _ in range(count):
        producer.produce(topic, _MESSAGE, on_delivery=confirm)
    handed_over = time.perf_counter() - began
    if flushes:
        producer.flush(_SECONDS)
        # the last reports may be in the hands of the other thread
        while confirmed < count and time.perf_counter() - began < _SECONDS:
            producer.poll(0.01)
    return Sent(count, handed_over, time.perf_counter() - began, confirmed)


def _aiokafka(address: str, topic: str, count: int, *, each: bool) -> Sent:
    from aiokafka import AIOKafkaProducer

    async def send() -> Sent:
        producer: Any = AIOKafkaProducer(bootstrap_servers=address, acks="all")
        await producer.start()
        await producer.partitions_for(topic)
        sent = []
        began = time.perf_counter()
        for _ in range(count):
            sent.append(await producer.send(topic, _MESSAGE))
            if each:
                await sent[-1]
                if time.perf_counter() - began > _LONGEST:
                    break
        handed_over = time.perf_counter() - began
        confirmed = len(await asyncio.gather(*sent))
        took = time.perf_counter() - began
        # it would complain of a client that is not closed; nothing is left to send
        await producer.stop()
        return Sent(len(sent), handed_over, took, confirmed)

    return asyncio.run(send())


WAYS: Mapping[str, Callable[[str, str, int], Sent]] = {
    "kafka-python, get() for each": lambda *to: _kafka_python(*to, each=True),
    "kafka-python, all, then flush()": lambda *to: _kafka_python(*to, each=False),
    "confluent-kafka, no poll thread, then flush()": lambda *to: _confluent(*to, polls=False, flushes=True),
    "confluent-kafka, a poll thread, then flush()": lambda *to: _confluent(*to, polls=True, flushes=True),
    "confluent-kafka, no poll thread, no flush()": lambda *to: _confluent(*to, polls=False, flushes=False),
    "confluent-kafka, a poll thread, no flush()": lambda *to: _confluent(*to, polls=True, flushes=False),
    "aiokafka, send_and_wait() for each": lambda *to: _aiokafka(*to, each=True),
    "aiokafka, all, awaited together": lambda *to: _aiokafka(*to, each=False),
}


def main(way: str, address: str, topic: str, count: str) -> None:
    """Send so many."""
    print(json.dumps(WAYS[way](address, topic, int(count))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
