"""The collectors' end: what has arrived there, and what that cost."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Protocol

import psutil

from kit.kafka_topics import TOPICS, count_records, create_topics
from kit.real.kafka import Kafka
from kit.real.ports import HOST, free_ports
from stress.collectors.kafka import PARTITIONS

from .process import OTHERS, Conversation, conversing, cpu_of, on_core

WAIT = 0.01
"""Seconds before a counting collector answers."""
_TOPIC = "skywalking-segments"
_PLACES = {
    "grpc": "/skywalking.v3.TraceSegmentReportService/collect",
    "http": "/v3/segments",
    "kafka": _TOPIC,
}


class Sink(Protocol):
    """Where segments go."""

    address: str

    def count(self) -> int:
        """How many have arrived."""
        ...

    def cpu(self) -> float:
        """CPU seconds that it has used."""
        ...


class CountingSink:
    """One of `stress.collectors`."""

    def __init__(self, transport: str, port: int, conversation: Conversation) -> None:
        self.address = f"{HOST}:{port}"
        self._place = _PLACES[transport]
        self._conversation = conversation
        self.cpu = conversation.cpu
        conversation.hear()

    def count(self) -> int:
        counts: dict[str, int] = self._conversation.ask("")
        return counts.get(self._place, 0)

    def end(self) -> int:
        """Hang up on everybody; how many have arrived in all."""
        counts: dict[str, int] = json.loads(self._conversation.end())
        return counts.get(self._place, 0)


class BrokerSink:
    """A real broker: what has arrived is what its log's ends say."""

    def __init__(self, kafka: Kafka, topics: Sequence[str]) -> None:
        self.address = kafka.address
        # the JVM has no other parent than us
        self._processes = [each for each in psutil.Process().children() if str(kafka.home) in " ".join(each.cmdline())]
        asyncio.run(create_topics(self.address, topics, PARTITIONS))

    def count(self) -> int:
        return self.count_topic(_TOPIC)

    def count_topic(self, topic: str) -> int:
        """How many records of a topic have arrived."""
        return asyncio.run(count_records(self.address, topic, PARTITIONS))

    def cpu(self) -> float:
        return sum(cpu_of(process) for process in self._processes)


@contextlib.contextmanager
def counting_sink(transport: str, port: int | None = None) -> Iterator[CountingSink]:
    """A counting collector, which waits."""
    chosen = port or free_ports(1)[0]
    arguments = (transport, str(chosen), "--wait", str(WAIT))
    with conversing("stress.collectors", *arguments, core=OTHERS) as conversation:
        yield CountingSink(transport, chosen, conversation)


@contextlib.contextmanager
def open_broker(topics: Sequence[str]) -> Iterator[BrokerSink]:
    """A real broker with some topics."""
    with contextlib.ExitStack() as stack:
        with on_core(OTHERS):
            kafka = stack.enter_context(Kafka())
        yield BrokerSink(kafka, topics)


@contextlib.contextmanager
def open_sink(transport: str) -> Iterator[Sink]:
    """A sink for one of the transports of `cells`."""
    sink = open_broker(TOPICS) if transport == "kafka-broker" else counting_sink(transport)
    with sink as opened:
        yield opened
