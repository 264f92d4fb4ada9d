"""The other end: for each transport a collector that counts what arrives, record by record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition

from kit import sinks
from kit.kafka_topics import TOPICS
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka

NAME = "collector.test"
"""A name that no resolver knows but those of the tests."""


class Sink(Protocol):
    """A collector that answers, and where a proxy finds it."""

    @property
    def port(self) -> int: ...
    async def arrived(self) -> Counter[str]:
        """How often each segment has come, by its id. Any backend."""
        ...


class CountingSink:
    """One of the kit's."""

    def __init__(self, sink: sinks.Sink) -> None:
        self.port = int(sink.settings["collector"].rpartition(":")[2])
        self._sink = sink

    async def arrived(self) -> Counter[str]:
        return self._sink.ids.copy()


class KafkaSink:
    """A real broker's topic, from where its end is now."""

    def __init__(self, broker: Broker, entry: int) -> None:
        self.port = broker.kafka.entries[entry]
        self._broker = broker
        self._start = broker.tools.run(broker.end)

    async def arrived(self) -> Counter[str]:
        return Counter(await self._broker.tools.call(self._broker.keys, self._start))


class Broker:
    """A broker with its topics, which all tests share, and a consumer that comes by no proxy.

    :ivar tools: the loop of the consumer
    """

    PLACE: Any = TopicPartition("skywalking-segments", 0)

    def __init__(self, kafka: Kafka, tools: LoopThread) -> None:
        self.kafka = kafka
        self.tools = tools

    async def start(self) -> None:
        """Be ready for records."""
        self._consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka.address, fetch_max_wait_ms=20)
        await self._consumer.start()
        for topic in TOPICS:  # asked for a topic that is not there, the broker makes it
            await self._consumer._client._wait_on_metadata(topic)
        self._consumer.assign([self.PLACE])
        self._consumer.pause(self.PLACE)

    async def stop(self) -> None:
        await self._consumer.stop()

    async def end(self) -> int:
        """The offset that the next record will have."""
        offsets: dict[Any, int] = await self._consumer.end_offsets([self.PLACE])
        return offsets[self.PLACE]

    async def keys(self, start: int) -> list[str]:
        """The keys of all records from an offset on."""
        end = await self.end()
        self._consumer.seek(self.PLACE, start)
        self._consumer.resume(self.PLACE)
        keys: list[str] = []
        while await self._consumer.position(self.PLACE) < end:
            found = await self._consumer.getmany(self.PLACE, timeout_ms=100)
            keys += [record.key.decode() for record in found.get(self.PLACE, ())]
        # fetching all the time, it would hold up what else is asked
        self._consumer.pause(self.PLACE)
        return keys


@contextmanager
def sink_of(transport: str, broker: Broker | None = None, entry: int = 0) -> Iterator[Sink]:
    """A sink for a transport.

    :param broker: for Kafka
    :param entry: by which of the broker's entries one comes to it
    """
    if transport != "kafka":
        with sinks.sink_of(transport) as sink:
            yield CountingSink(sink)
    else:
        assert broker is not None
        yield KafkaSink(broker, entry)
