"""A Kafka broker in a thread, as far as a producer can see: one node, any topic, no disk. It may answer as ordered.

    with KafkaBroker() as broker:
        ...
        assert broker.records["skywalking-segments"] == [(key, value)]
        broker.codes[PRODUCE] = 7                # the error code of its answers to produce requests
        broker.instead[METADATA] = b"garbage"    # bytes in place of an answer

aiokafka's own structures read the requests and write the answers. For what a broker does with records, and for how it
fails, there is the real one (`kit/real/kafka.py`); this one starts at once and shows exactly what it was sent.
"""

from __future__ import annotations

import asyncio
import io
import ssl
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

from aiokafka.protocol.admin import (
    ApiVersionRequest_v0,
    ApiVersionResponse_v0,
    SaslAuthenticateRequest_v0,
    SaslAuthenticateResponse_v0,
    SaslHandShakeRequest_v1,
    SaslHandShakeResponse_v1,
)
from aiokafka.protocol.metadata import MetadataRequest_v1, MetadataResponse_v1
from aiokafka.protocol.produce import ProduceRequest_v3, ProduceResponse_v3
from aiokafka.protocol.types import Int16, Int32, Schema, String
from aiokafka.record.memory_records import MemoryRecords

from .servers import TcpServer

Record = tuple[bytes, bytes]
PRODUCE, METADATA, HANDSHAKE, VERSIONS, AUTHENTICATE = 0, 3, 17, 18, 36
_REQUESTS = (
    ApiVersionRequest_v0, MetadataRequest_v1, ProduceRequest_v3, SaslHandShakeRequest_v1, SaslAuthenticateRequest_v0,
)  # fmt: skip
_HEADER: Any = Schema(("api", Int16), ("version", Int16), ("correlation", Int32), ("client", String("utf-8")))
_NODE = 1


async def _nothing(topic: str) -> None:
    """Acknowledge at once."""


class KafkaBroker(TcpServer):
    """Takes all records that it is sent, and acknowledges them, unless a test says otherwise.

    :ivar records: by topic, key and value of every record, in the order in which they came
    :ivar places: topic and partition of every batch, likewise
    :ivar before_answer: awaited with the topic when records have come in and are not acknowledged yet
    :ivar requests: the kinds of all requests, in their order
    :ivar codes: the error code of its answers, by the kind of request; 0 where there is none
    :ivar instead: raw bytes in place of an answer, by the kind of request; empty: silence
    :ivar tokens: what it was told in SASL logins
    :ivar challenge: its answer to one of these; a PLAIN login takes an empty one
    :ivar advertised: where it sends its clients; None: to itself
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        requests: tuple[Any, ...] = _REQUESTS,
        *,
        port: int = 0,
        partitions: int = 1,
        mechanism: str = "PLAIN",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """
        :param requests: the kinds that it understands
        :param partitions: of each topic
        :param mechanism: of logins
        """
        super().__init__(host, context)
        self._port = port
        self._partitions = range(partitions)
        self._mechanism = mechanism
        self._kinds = {each.API_KEY: each for each in requests}
        self.records: defaultdict[str, list[Record]] = defaultdict(list)
        self.places: list[tuple[str, int]] = []
        self.before_answer: Callable[[str], Awaitable[None]] = _nothing
        self.requests: list[int] = []
        self.codes: dict[int, int] = {}
        self.instead: dict[int, bytes] = {}
        self.tokens: list[bytes] = []
        self.challenge: Callable[[bytes], bytes] = lambda _: b""
        self.advertised: tuple[str, int] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = io.BytesIO(await reader.readexactly(size))
                api, version, correlation, _ = _HEADER.decode(request)
                self.requests.append(api)
                kind = self._kinds[api]
                assert version == kind.API_VERSION, f"{kind} in version {version}"
                answer = await self.answer(kind.decode(request))
                encoded = struct.pack(">i", correlation) + answer.encode()
                writer.write(self.instead.get(api, struct.pack(">i", len(encoded)) + encoded))
                await writer.drain()

    async def answer(self, request: Any) -> Any:
        """The answer to a request."""
        code = self.codes.get(request.API_KEY, 0)
        if isinstance(request, ApiVersionRequest_v0):
            spoken = [(key, kind.API_VERSION, kind.API_VERSION) for key, kind in self._kinds.items()]
            return ApiVersionResponse_v0(code, spoken)
        if isinstance(request, SaslHandShakeRequest_v1):
            return SaslHandShakeResponse_v1(code, [self._mechanism])
        if isinstance(request, SaslAuthenticateRequest_v0):
            self.tokens.append(request.sasl_auth_bytes)
            return SaslAuthenticateResponse_v0(code, "no" if code else None, self.challenge(request.sasl_auth_bytes))
        if isinstance(request, MetadataRequest_v1):
            partitions = [(0, number, _NODE, [_NODE], [_NODE]) for number in self._partitions]
            topics = [(code, topic, False, [] if code else partitions) for topic in request.topics or ()]
            return MetadataResponse_v1([(_NODE, *(self.advertised or (self._host, self.port)), None)], _NODE, topics)
        answers = []
        for topic, partitions in request.topics:
            for partition, batches in partitions:
                offset = -1 if code else self.take(topic, batches)
                self.places.append((topic, partition))
                await self.before_answer(topic)
                answers.append((topic, [(partition, code, offset, -1)]))
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
