"""A Kafka broker that can be read from, too: a `KafkaBroker` whose records a consumer fetches.

    broker = KafkaLog(["topic"])
    await broker.start()
    broker.append("topic", b"value")

Producers may write to it as well. Its log begins where the test says, as if older records had been deleted.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from aiokafka.protocol.admin import ApiVersionRequest_v0
from aiokafka.protocol.fetch import FetchRequest_v4, FetchResponse_v4
from aiokafka.protocol.metadata import MetadataRequest_v1
from aiokafka.protocol.offset import OffsetRequest_v1, OffsetResponse_v1
from aiokafka.protocol.produce import ProduceRequest_v3
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from .kafka_broker import KafkaBroker

_OUT_OF_RANGE = 1
_EARLIEST = -2
_REQUESTS = (ApiVersionRequest_v0, MetadataRequest_v1, OffsetRequest_v1, FetchRequest_v4, ProduceRequest_v3)


class KafkaLog(KafkaBroker):
    """Has some topics, of one partition each, and gives out their records.

    :ivar first: by topic the offset of the oldest record that it still has; 0 where there is none
    """

    def __init__(self, topics: Sequence[str]) -> None:
        super().__init__(requests=_REQUESTS)
        self.first: dict[str, int] = {}
        self._topics = list(topics)
        self._arrived = asyncio.Event()

    def append(self, topic: str, *values: bytes) -> None:
        """Add records, at once for whoever waits for them. In the broker's own loop."""
        self.records[topic] += [(b"", value) for value in values]
        self._notify()

    async def answer(self, request: Any) -> Any:
        if isinstance(request, MetadataRequest_v1):
            request.topics = request.topics or self._topics
        elif isinstance(request, OffsetRequest_v1):
            return OffsetResponse_v1([(topic, self._ends(topic, wanted)) for topic, wanted in request.topics])
        elif isinstance(request, FetchRequest_v4):
            return await self._fetch(request)
        answer = await super().answer(request)
        if isinstance(request, ProduceRequest_v3):
            self._notify()
        return answer

    def _notify(self) -> None:
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    def _ends(self, topic: str, wanted: Any) -> list[Any]:
        first, end = self.first.get(topic, 0), len(self.records[topic])
        return [(partition, 0, -1, first if time == _EARLIEST else end) for partition, time in wanted]

    async def _fetch(self, request: Any) -> Any:
        asked = [(topic, *each) for topic, partitions in request.topics for each in partitions]
        if all(len(self.records[topic]) == offset for topic, _, offset, _ in asked):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), request.max_wait_time / 1000)
        return FetchResponse_v4(0, [(topic, [self._batch(topic, *each)]) for topic, *each in asked])

    def _batch(self, topic: str, partition: int, offset: int, _: int) -> Any:
        records = self.records[topic]
        if not self.first.get(topic, 0) <= offset <= len(records):
            return partition, _OUT_OF_RANGE, -1, -1, [], b""
        return partition, 0, len(records), len(records), [], _encoded(offset, records[offset:])


def _encoded(offset: int, records: Sequence[tuple[bytes, bytes]]) -> bytes:
    if not records:
        return b""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 2**30)
    for number, (key, value) in enumerate(records):
        assert builder.append(number, int(time.time() * 1000), key, value, [])
    batch = builder.build()
    struct.pack_into(">q", batch, 0, offset)  # the checksum leaves it out, for a broker to set
    return bytes(batch)
