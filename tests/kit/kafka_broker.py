"""A Kafka broker in a thread, as far as a producer can see: one node, any topic, no disk.

    with KafkaBroker() as broker:
        ...
        assert broker.records["skywalking-segments"] == [(key, value)]

aiokafka's own structures read the requests and write the answers. For what a broker does with records, and for how it
fails, there is the real one (`kit/real/kafka.py`); this one starts at once and shows exactly what it was sent.
"""

from __future__ import annotations

import asyncio
import io
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiokafka.protocol.admin import ApiVersionRequest_v0, ApiVersionResponse_v0
from aiokafka.protocol.metadata import MetadataRequest_v1, MetadataResponse_v1
from aiokafka.protocol.produce import ProduceRequest_v3, ProduceResponse_v3
from aiokafka.protocol.types import Int16, Int32, Schema, String
from aiokafka.record.memory_records import MemoryRecords

from .servers import TcpServer

Record = tuple[bytes, bytes]
_REQUESTS = (ApiVersionRequest_v0, MetadataRequest_v1, ProduceRequest_v3)
_HEADER: Any = Schema(("api", Int16), ("version", Int16), ("correlation", Int32), ("client", String("utf-8")))
_NODE = 1


async def _nothing(topic: str) -> None:
    """Acknowledge at once."""


class KafkaBroker(TcpServer):
    """Takes all records that it is sent, and acknowledges them.

    :ivar records: by topic, key and value of every record, in the order in which they came
    :ivar before_answer: awaited with the topic when records have come in and are not acknowledged yet
    """

    def __init__(
        self, host: str = "127.0.0.1", requests: tuple[Any, ...] = _REQUESTS, *, port: int = 0, partitions: int = 1
    ) -> None:
        """
        :param requests: the kinds that it understands
        :param partitions: of each topic
        """
        super().__init__(host)
        self._port = port
        self._partitions = range(partitions)
        self._requests = {each.API_KEY: each for each in requests}
        self.records: defaultdict[str, list[Record]] = defaultdict(list)
        self.before_answer: Callable[[str], Awaitable[None]] = _nothing

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _read(reader, 4):
            (size,) = struct.unpack(">i", head)
            request = io.BytesIO(await _read(reader, size))
            api, version, correlation, _ = _HEADER.decode(request)
            kind = self._requests[api]
            assert version == kind.API_VERSION, f"{kind} in version {version}"
            answer = await self.answer(kind.decode(request))
            encoded = struct.pack(">i", correlation) + answer.encode()
            writer.write(struct.pack(">i", len(encoded)) + encoded)
            await writer.drain()

    async def answer(self, request: Any) -> Any:
        """The answer to a request."""
        if isinstance(request, ApiVersionRequest_v0):
            spoken = [(key, kind.API_VERSION, kind.API_VERSION) for key, kind in self._requests.items()]
            return ApiVersionResponse_v0(0, spoken)
        if isinstance(request, MetadataRequest_v1):
            partitions = [(0, number, _NODE, [_NODE], [_NODE]) for number in self._partitions]
            topics = [(0, topic, False, partitions) for topic in request.topics or ()]
            return MetadataResponse_v1([(_NODE, self._host, self.port, None)], _NODE, topics)
        answers = []
        for topic, partitions in request.topics:
            for partition, batches in partitions:
                offset = self.take(topic, batches)
                await self.before_answer(topic)
                answers.append((topic, [(partition, 0, offset, -1)]))
        return ProduceResponse_v3(answers, 0)

    def take(self, topic: str, batches: bytes) -> int:
        """Take batches in; returns how many records were there before."""
        before = len(self.records[topic])
        self.records[topic] += _records_of(batches)
        return before


def _records_of(batches: bytes) -> Iterator[Record]:
    found = MemoryRecords(batches)
    while (batch := found.next_batch()) is not None:
        assert batch.validate_crc()
        for record in batch:
            yield bytes(record.key or b""), bytes(record.value or b"")


async def _read(reader: asyncio.StreamReader, size: int) -> bytes:
    """So many bytes; fewer at the connection's end."""
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        return error.partial
