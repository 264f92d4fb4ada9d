"""A Kafka broker that counts the records of batches and decodes none: one node, any topic with a few partitions.

A batch says itself how many records it holds (RecordBatch, magic 2), so that is all that is read of it. Requests are
answered one after the other, as a broker answers them on one connection.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from aiokafka.protocol.produce import ProduceRequest_v3

from kit.kafka_broker import KafkaBroker

PARTITIONS = 3
"""The number of partitions that OAP gives to each topic that it creates (its `kafka-fetcher/partitions`)."""
_SIZE = struct.Struct(">i")
# RecordBatch: its length follows the offset, the number of its records ends its head
_LENGTH_AT, _BODY_AT, _COUNT_AT = 8, 12, 57


def count_batches(batches: bytes) -> int:
    """How many records some batches hold, one after the other."""
    found = position = 0
    while position + _COUNT_AT + _SIZE.size <= len(batches):
        found += _SIZE.unpack_from(batches, position + _COUNT_AT)[0]
        position += _BODY_AT + _SIZE.unpack_from(batches, position + _LENGTH_AT)[0]
    return found


class KafkaCollector(KafkaBroker):
    """Serves connections. Every batch is acknowledged, after a wait."""

    def __init__(self, counts: dict[str, int], wait: float, port: int) -> None:
        super().__init__(port=port, partitions=PARTITIONS)
        self._counts = counts
        self._wait = wait

    async def answer(self, request: Any) -> Any:
        answer = await super().answer(request)
        if isinstance(request, ProduceRequest_v3):
            await asyncio.sleep(self._wait)
        return answer

    def take(self, topic: str, batches: bytes) -> int:
        before = self._counts.get(topic, 0)
        self._counts[topic] = before + count_batches(batches)
        return before
