"""Peers that answer every call with the same reply, over gRPC and over HTTP, and transports to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from kit import answers, http_answers
from kit.client import Sender
from kit.each import CLIENTS
from kit.h2_peer import H2Peer, message
from kit.http_peer import HttpPeer
from swagent.abc import Instance
from swagent.errors import DeliveryError

INSTANCE = Instance("shop", "shop@host", ())


class Talker:
    """A transport, and the calls that a collector may answer with commands."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    async def outcomes(self) -> list[DeliveryError | None]:
        """A batch, the properties and a heartbeat: what became of each."""
        transport = self._client.transport
        return [
            await self._client.verdict(),
            await self._report(transport.report_properties),
            await self._report(transport.keep_alive),
        ]

    async def _report(self, call: Callable[..., Any]) -> DeliveryError | None:
        try:
            await self._client.run(call, INSTANCE)
        except DeliveryError as error:
            return error
        return None


@contextmanager
def peer_answering(transport: str, reply: bytes) -> Generator[str]:
    """The address of a peer whose every reply is this: a protobuf message over gRPC, JSON over HTTP."""
    if transport == "grpc":
        with H2Peer(answers.reply(message(reply))) as grpc_peer:
            yield grpc_peer.address
    else:
        # in slices, or the peer itself would copy all of it
        with HttpPeer(http_answers.raw(http_answers.answer(200, body=reply)), slice=65_536) as http_peer:
            yield http_peer.address


@asynccontextmanager
async def talker(transport: str, address: str) -> AsyncGenerator[Talker]:
    """A transport that is watched: nothing may reach the application's handlers, and nothing may be left."""
    async with CLIENTS[transport](address, request_timeout=5.0) as client:
        yield Talker(client)
