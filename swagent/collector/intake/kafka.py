"""The Kafka intake: reads the topics that agents write to. Needs the extra `kafka`.

A missing topic is created, as OAP does it. The store keeps the offsets beside the records. So the records that came
while a collector with a file was away are read at its next start. Records that were read but not committed are read
again; segments that come twice are recognised. In memory, and at the first start with a file, reading begins at the end
of each topic. Where the broker no longer has the next record, reading goes on with the oldest that it has.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import Any

import anyio
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import ClusterAuthorizationFailedError, KafkaError, TopicAuthorizationFailedError

from ..store.database import StoreError
from ..store.store import Store
from .messages import Intake

_LOG = logging.getLogger("swagent.collector")
_REGISTRATION = b"register-"
_KINDS = {
    "skywalking-segments": "SegmentObject",
    "skywalking-logs": "LogData",
    "skywalking-meters": "MeterDataCollection",
    "skywalking-managements": "InstancePingPkg",
    "skywalking-profilings": "ThreadSnapshot",
}
_PARTITIONS = 3
_LOOKS = 50
_POLL_MS = 500
# Seconds before what failed is tried again.
_PAUSE = 2.0


class KafkaIntake:
    """One consumer of all topics."""

    def __init__(self, store: Store, brokers: str, namespace: str = "") -> None:
        """:param brokers: `host:port`, several with commas"""
        self.brokers = brokers
        self._store = store
        prefix = f"{namespace}-" if namespace else ""
        self._kinds = {prefix + topic: kind for topic, kind in _KINDS.items()}
        self._consumer: Any = None
        self._task: asyncio.Task[None] | None = None

    @cached_property
    def _parsing(self) -> anyio.CapacityLimiter:
        # made in the loop that reads: a limit belongs to a loop
        return anyio.CapacityLimiter(1)

    async def start(self) -> None:
        """Make the topics that are missing, and read from all.

        :raises OSError: when no broker answers
        """
        try:
            topics = await self._make_topics()
            self._consumer = AIOKafkaConsumer(
                bootstrap_servers=self.brokers, enable_auto_commit=False, auto_offset_reset="earliest"
            )
            await self._consumer.start()
            await self._assign(
                [TopicPartition(topic, number) for topic, numbers in topics.items() for number in numbers]
            )
        except KafkaError as error:
            await self.stop()
            raise OSError(f"no Kafka broker at {self.brokers}: {error}") from error
        except BaseException:  # aiokafka lets errors of sockets and of its own code through; and a cancellation
            await self.stop()
            raise
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Leave the brokers. Twice is harmless."""
        task, consumer, self._task, self._consumer = self._task, self._consumer, None, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        if consumer is not None:
            await consumer.stop()

    async def _make_topics(self) -> dict[str, list[int]]:
        """Make those that are missing; the numbers of each one's partitions."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.brokers)
        try:
            await admin.start()
            there = await admin.list_topics()
            missing = [topic for topic in self._kinds if topic not in there]
            if missing:
                await admin.create_topics([NewTopic(topic, _PARTITIONS, 1) for topic in missing])
            return await self._partitions(admin)
        except (TopicAuthorizationFailedError, ClusterAuthorizationFailedError) as error:
            _LOG.warning("topics are missing, and the broker does not let them be made: %s", error)
            return await self._partitions(admin)
        finally:
            await admin.close()

    async def _partitions(self, admin: Any) -> dict[str, list[int]]:
        """A topic that was just made takes a moment until its partitions have leaders."""
        found: dict[str, list[int]] = {}
        for _ in range(_LOOKS):
            for topic in await admin.describe_topics(list(self._kinds)):
                found[topic["topic"]] = sorted(each["partition"] for each in topic["partitions"] if each["leader"] >= 0)
            if all(found.values()):
                break
            await asyncio.sleep(0.1)  # the broker does not announce it
        for topic in (topic for topic, numbers in found.items() if not numbers):
            _LOG.warning("the topic %s is not there: nothing is read from it", topic)
        return found

    async def _assign(self, partitions: list[Any]) -> None:
        """Take partitions; those that the store does not know from their end."""
        self._consumer.assign(partitions)
        kept = self._store.offsets(self.brokers)
        new = [each for each in partitions if (each.topic, each.partition) not in kept]
        ends = await self._consumer.end_offsets(new)
        intake = Intake(self._store, self._parsing)
        for each in new:
            intake.set_offset(self.brokers, each.topic, each.partition, ends[each])
        intake.commit()

    async def _run(self) -> None:
        while True:
            try:
                self._rewind()
                await self._read()
            except (KafkaError, StoreError) as error:
                _LOG.warning("reading from Kafka goes on in %g s: %s", _PAUSE, error)
                await asyncio.sleep(_PAUSE)

    def _rewind(self) -> None:
        """Go to where the store is: at the start, and after what was read could not be written.

        :raises StoreError: when the store cannot be read or written
        """
        kept = self._store.offsets(self.brokers)
        for partition in self._consumer.assignment():
            offset = kept.get((partition.topic, partition.partition))
            if offset is not None:
                self._consumer.seek(partition, offset)

    async def _read(self) -> None:
        while True:
            batches = await self._consumer.getmany(timeout_ms=_POLL_MS)
            intake = Intake(self._store, self._parsing)
            for partition, records in batches.items():
                for record in records:
                    await self._take(intake, partition.topic, record.key or b"", record.value or b"")
                intake.set_offset(self.brokers, partition.topic, partition.partition, records[-1].offset + 1)
            if batches:
                intake.commit()

    async def _take(self, intake: Intake, topic: str, key: bytes, value: bytes) -> None:
        kind = self._kinds[topic]
        if kind == "InstancePingPkg" and key.startswith(_REGISTRATION):
            kind = "InstanceProperties"
        try:
            await intake.take(kind, value)
        except ValueError as error:  # no sender waits for a status here, and the next record may be good
            _LOG.warning("a record of %s was left out: %s", topic, error)
