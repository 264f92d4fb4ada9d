"""The Kafka broker: one for all applications, which each enter it by a proxy of their own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer

from kit.kafka_topics import TOPICS, create_topics
from kit.real.kafka import Kafka
from swagent.signals import Signal

from .cells import Cell
from .record_names import names_of

_TOPICS = {
    Signal.SEGMENT: "skywalking-segments",
    Signal.LOG: "skywalking-logs",
    Signal.METER: "skywalking-meters",
}
# A client goes where the broker says it is, so there is a listener for each proxy, named as the cell's event loop.
_LISTENERS = """\
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{own},CONTROLLER://127.0.0.1:{controller},{inner}
advertised.listeners=PLAINTEXT://127.0.0.1:{own},{outer}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{plain}
inter.broker.listener.name=PLAINTEXT
"""


class ProxiedKafka(Kafka):
    """A broker that is also known under the ports of proxies."""

    def __init__(self, own: tuple[int, int], inner: Mapping[str, int], outer: Mapping[str, int]) -> None:
        """
        :param own: the ports of the broker and of its controller
        :param inner: for each name where to listen
        :param outer: for each name the port that clients get from the broker
        """
        super().__init__()
        self.ports = (*own, *inner.values())
        self.address = f"127.0.0.1:{own[0]}"
        settings = _LISTENERS.format(
            own=own[0],
            controller=own[1],
            inner=",".join(f"{name}://127.0.0.1:{port}" for name, port in inner.items()),
            outer=",".join(f"{name}://127.0.0.1:{port}" for name, port in outer.items()),
            plain=",".join(f"{name}:PLAINTEXT" for name in inner),
        )
        with self._settings.open("a") as file:
            file.write(settings)  # of two lines with the same key the later holds


class Broker:
    """A sink: what came is what a consumer reads from the first offset on."""

    def __init__(self, own: tuple[int, int], inner: Mapping[Cell, int], outer: Mapping[Cell, int]) -> None:
        """:param inner: for each cell the port where to listen
        :param outer: for each cell the proxy's port
        """
        self._cells = list(inner)
        self._kafka = ProxiedKafka(own, _by_name(inner), _by_name(outer))
        self._has_topics = False

    def start(self) -> None:
        self._kafka.start()
        if not self._has_topics:
            names = [f"{cell}-{topic}" for cell in self._cells for topic in TOPICS]
            asyncio.run(create_topics(self._kafka.address, names))
            self._has_topics = True

    def kill(self) -> None:
        self._kafka.kill()

    def freeze(self) -> None:
        self._kafka.pause()

    def thaw(self) -> None:
        self._kafka.resume()

    def close(self) -> None:
        self._kafka.close()

    def names(self, cell: Cell) -> Mapping[Signal, Counter[str]]:
        return asyncio.run(self._read(cell))

    async def _read(self, cell: Cell) -> dict[Signal, Counter[str]]:
        return {signal: Counter(await self._read_topic(f"{cell}-{topic}", signal)) for signal, topic in _TOPICS.items()}

    async def _read_topic(self, topic: str, signal: Signal) -> list[str]:
        names: list[str] = []
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=self._kafka.address, auto_offset_reset="earliest")
        await consumer.start()
        try:
            ends = await consumer.end_offsets(list(consumer.assignment()))
            while any([await consumer.position(place) < end for place, end in ends.items()]):
                batches = await consumer.getmany(timeout_ms=1000)
                names += names_of(signal, [record.value for records in batches.values() for record in records])
        finally:
            await consumer.stop()
        return names


def _by_name(ports: Mapping[Cell, int]) -> Mapping[str, int]:
    return {cell.backend.upper(): port for cell, port in ports.items()}
