"""A Kafka broker that answers as ordered, and is a cluster of one.

    with KafkaPeer() as peer:
        ...
        peer.codes[PRODUCE] = 7                # the error code of its answers to produce requests
        peer.instead[METADATA] = b"garbage"    # bytes in place of an answer
        ...
        assert peer.requests.count(PRODUCE) == 1

It takes what it needs of the protocol's structures from aiokafka, and no more of the protocol than the transport uses.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from typing import Any

from aiokafka.protocol.admin import (
    ApiVersionResponse_v0,
    SaslAuthenticateRequest_v0,
    SaslAuthenticateResponse_v0,
    SaslHandShakeResponse_v1,
)
from aiokafka.protocol.metadata import MetadataRequest_v1, MetadataResponse_v1
from aiokafka.protocol.produce import ProduceRequest_v3, ProduceResponse_v3

from .servers import TcpServer

PRODUCE, METADATA, HANDSHAKE, VERSIONS, AUTHENTICATE = 0, 3, 17, 18, 36
# the one version of each request that it speaks
_SPOKEN = [(PRODUCE, 3, 3), (METADATA, 1, 1), (HANDSHAKE, 1, 1), (VERSIONS, 0, 0), (AUTHENTICATE, 0, 0)]
_HEAD = struct.Struct(">hhih")
_UNKNOWN_TOPIC = 3


class KafkaPeer(TcpServer):
    """Listens, and answers.

    :ivar codes: the error code of its answers, by the kind of request; 0 where there is none
    :ivar instead: raw bytes in place of an answer, by the kind of request; empty: silence
    :ivar login: the challenges of a SASL login, one an exchange; a PLAIN login is one empty challenge
    :ivar requests: the kinds of all requests, in their order
    :ivar batches: topic and records of each batch, as they came over the wire
    :ivar heard: everything that came
    """

    def __init__(
        self, *, mechanism: str = "PLAIN", host: str = "127.0.0.1", context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(host, context)
        self.codes: dict[int, int] = {}
        self.instead: dict[int, bytes] = {}
        self.login: list[bytes] = [b""]
        self.requests: list[int] = []
        self.batches: list[tuple[str, bytes]] = []
        self.tokens: list[bytes] = []
        self.heard = bytearray()
        self._mechanism = mechanism

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        challenges = iter(self.login)
        while True:
            try:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
            except asyncio.IncompleteReadError as end:
                self.heard += end.partial
                return
            self.heard += request
            kind, _, number, name = _HEAD.unpack_from(request)
            self.requests.append(kind)
            found = self._answer(kind, request[_HEAD.size + max(name, 0) :], challenges)
            answer = struct.pack(">i", number) + found.encode()
            writer.write(self.instead.get(kind, struct.pack(">i", len(answer)) + answer))
            await writer.drain()

    def _answer(self, kind: int, body: bytes, challenges: Any) -> Any:
        code = self.codes.get(kind, 0)
        if kind == VERSIONS:
            return ApiVersionResponse_v0(code, _SPOKEN)
        if kind == HANDSHAKE:
            return SaslHandShakeResponse_v1(code, [self._mechanism])
        if kind == AUTHENTICATE:
            self.tokens.append(SaslAuthenticateRequest_v0.decode(body).sasl_auth_bytes)
            return SaslAuthenticateResponse_v0(code, "no" if code else None, next(challenges, b""))
        if kind == METADATA:
            return self._notify(MetadataRequest_v1.decode(body).topics or [], code)
        return self._take(ProduceRequest_v3.decode(body).topics, code)

    def _notify(self, topics: list[str], code: int) -> Any:
        partitions = [] if code else [(0, 0, 1, [1], [1])]
        brokers = [(1, self._host, self.port, None)]
        return MetadataResponse_v1(brokers, 1, [(code, topic, False, partitions) for topic in topics])

    def _take(self, topics: Any, code: int) -> Any:
        taken = []
        for topic, partitions in topics:
            self.batches += [(topic, records) for _, records in partitions]
            taken.append((topic, [(partition, code, -1 if code else 0, -1) for partition, _ in partitions]))
        return ProduceResponse_v3(taken, 0)
