"""A real broker as tests of the transport use it: its states, its topics, and what it holds."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from kit.kafka_topics import TOPICS, administer, create_topics
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka

_UNLIMITED = "1048588"  # the broker's default


class Cluster:
    """One broker with topics under a namespace of their own."""

    def __init__(self, kafka: Kafka, tools: LoopThread) -> None:
        self.address = kafka.address
        self.namespace = f"test{uuid.uuid4().hex[:8]}"
        self._kafka = kafka
        self._tools = tools
        self._made: set[TopicPartition] = set()

    def topic(self, name: str) -> str:
        """A topic of ours: `cluster.topic("segments")`."""
        return f"{self.namespace}-skywalking-{name}"

    async def serve(self) -> None:
        """Be up, and say so only when every partition of ours has its leader back."""
        self._kafka.resume()
        await anyio.to_thread.run_sync(self._kafka.start)
        await self._tools.call(self._wait_leaders)

    async def vanish(self) -> None:
        """As `kill -9`."""
        await anyio.to_thread.run_sync(self._kafka.kill)

    async def pause(self) -> None:
        """The kernel takes connections and bytes, and nothing answers."""
        await anyio.to_thread.run_sync(self._kafka.pause)

    def resume(self) -> None:
        self._kafka.resume()

    async def create_topics(self) -> None:
        """The four topics, of one partition each."""
        names = [f"{self.namespace}-{name}" for name in TOPICS]
        await self._tools.call(create_topics, self.address, names)
        self._made |= {TopicPartition(name, 0) for name in names}
        await self._tools.call(self._wait_leaders)

    async def limit(self, topic: str, size: int | None) -> None:
        """Let the broker refuse batches that are larger. None: as it was."""
        setting, limit = "max.message.bytes", _UNLIMITED if size is None else str(size)
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {setting: limit})
        await self._with_admin(lambda admin: admin.alter_configs([resource]))
        with anyio.fail_after(30):
            while await self._setting(topic, setting) != limit:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        await anyio.sleep(0.2)  # until the log takes over what the broker says already

    async def records(self, topic: str) -> list[tuple[bytes | None, bytes]]:
        """Key and value of everything that a topic holds, from its first offset on."""
        found: list[tuple[bytes | None, bytes]] = await self._tools.call(self._read, TopicPartition(topic, 0))
        return found

    async def _setting(self, topic: str, name: str) -> str:
        """The broker's value of a topic's setting."""
        seen: list[Any] = []

        async def ask(admin: Any) -> None:
            seen.extend(await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {name: None})]))

        await self._with_admin(ask)
        [[resource]] = [answer.resources for answer in seen]
        *_, [(_, value, *_)] = resource
        return str(value)

    async def _with_admin(self, use: Callable[[Any], Any]) -> None:
        await self._tools.call(administer, self.address, use)

    async def _read(self, place: Any) -> list[tuple[bytes | None, bytes]]:
        found: list[tuple[bytes | None, bytes]] = []
        async with AIOKafkaConsumer(bootstrap_servers=self.address, auto_offset_reset="earliest") as consumer:
            consumer.assign([place])
            end = (await consumer.end_offsets([place]))[place]
            await consumer.seek_to_beginning(place)
            while await consumer.position(place) < end:
                record = await consumer.getone()
                found.append((record.key, record.value))
        return found

    async def _wait_leaders(self) -> None:
        """A new partition, or one of a broker that was killed, takes a moment to be known and to get its leader."""
        while not await self._have_leaders():  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    async def _have_leaders(self) -> bool:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.address, retry_backoff_ms=20)
        try:
            await consumer.start()
            if not {place.topic for place in self._made} <= await consumer.topics():
                return False
            # only a leader that is ready knows the end
            await consumer.end_offsets([*self._made])
        except KafkaError:
            return False
        finally:
            await consumer.stop()
        return True
