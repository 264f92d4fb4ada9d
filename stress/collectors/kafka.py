"""A Kafka broker that counts the records of batches and decodes none: one node, any topic with a few partitions.

A batch says itself how many records it holds (RecordBatch, magic 2), so that is all that is read of it. Requests are
answered one after the other, as a broker answers them on one connection.
"""

from __future__ import annotations

import asyncio
import io
import struct
from typing import Any

from aiokafka.protocol.admin import ApiVersionRequest_v0, ApiVersionResponse_v0
from aiokafka.protocol.metadata import MetadataRequest_v1, MetadataResponse_v1
from aiokafka.protocol.produce import ProduceRequest_v3, ProduceResponse_v3
from aiokafka.protocol.types import Int16, Int32, Schema, String

PARTITIONS = 3
"""What OAP gives to each topic that it creates (its `kafka-fetcher/partitions`)."""
_NODE = 1
_REQUESTS: dict[int, Any] = {
    each.API_KEY: each for each in (ApiVersionRequest_v0, MetadataRequest_v1, ProduceRequest_v3)
}
_HEADER: Any = Schema(("api", Int16), ("version", Int16), ("correlation", Int32), ("client", String("utf-8")))
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


class KafkaCollector:
    """Serves connections. Every batch is acknowledged, after a wait."""

    def __init__(self, counts: dict[str, int], wait: float, port: int) -> None:
        self._counts = counts
        self._wait = wait
        self._port = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        try:
            while True:
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                request = io.BytesIO(await reader.readexactly(size))
                api, version, correlation, _ = _HEADER.decode(request)
                kind = _REQUESTS[api]
                assert version == kind.API_VERSION, f"{kind} in version {version}"
                answer = await self._answer(kind.decode(request))
                encoded = _SIZE.pack(correlation) + answer.encode()
                writer.write(_SIZE.pack(len(encoded)) + encoded)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, request: Any) -> Any:
        if isinstance(request, ApiVersionRequest_v0):
            versions = [(key, kind.API_VERSION, kind.API_VERSION) for key, kind in _REQUESTS.items()]
            return ApiVersionResponse_v0(0, versions)
        if isinstance(request, MetadataRequest_v1):
            partitions = [(0, number, _NODE, [_NODE], [_NODE]) for number in range(PARTITIONS)]
            topics = [(0, topic, False, partitions) for topic in request.topics or ()]
            return MetadataResponse_v1([(_NODE, "127.0.0.1", self._port, None)], _NODE, topics)
        answers = []
        for topic, partitions in request.topics:
            before = self._counts.get(topic, 0)
            self._counts[topic] = before + sum(count_batches(batches) for _, batches in partitions)
            answers.append((topic, [(partition, 0, before, -1) for partition, _ in partitions]))
        await asyncio.sleep(self._wait)
        return ProduceResponse_v3(answers, 0)
