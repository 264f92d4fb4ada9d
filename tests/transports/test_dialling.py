"""The way to a server: one that is not there, one that says nothing, and the application's descriptors beside it."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from faults.covering import covers
from kit.client import REQUEST_TIMEOUT
from kit.each import ANSWERS, CLIENTS, PEERS, grpc_client, http_client
from kit.loops import LOOPS
from kit.servers import TcpServer, dead_address
from kit.toxics import reset
from swagent.errors import AmbiguousError, RetryableError
from swagent_transports._dialling import dial

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("transport", CLIENTS)
async def test_no_server_there(transport: str, host: str) -> None:
    with dead_address(host) as address:
        async with CLIENTS[transport](address) as client:
            for _ in range(3):
                assert isinstance(await client.verdict(b"a record"), RetryableError)


def know_no_name(host: str, *_: object, **__: object) -> None:
    """As the system's resolver, with no name server that may take longer than a call."""
    host.encode("idna")
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@covers("F03", "grpc")
@pytest.mark.parametrize("name", ["no-such-host.invalid", "a" * 64 + ".invalid", "%41"])
@pytest.mark.parametrize("client_of", [grpc_client, http_client])
async def test_unknown_name(client_of: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", know_no_name)
    async with client_of(f"{name}:12800", request_timeout=5.0) as client:
        assert isinstance(await client.verdict(), RetryableError)


@pytest.mark.parametrize(
    "transport", [pytest.param("grpc", marks=covers("F05", "grpc")), pytest.param("http", marks=covers("F05", "http"))]
)
async def test_silence_costs_one_timeout_and_a_new_connection(transport: str) -> None:
    with PEERS[transport]() as peer:
        confirm = peer.behave
        async with CLIENTS[transport](peer.address) as client:
            await client.send()
            # with dialling done, even a busy machine lets the batch out in so short a time
            peer.behave, client.transport._timeout = ANSWERS[transport].silent, 0.2
            error = await client.verdict()
            assert isinstance(error, AmbiguousError)
            assert "0.2 s" in str(error)
            with anyio.fail_after(2):
                await peer.thread.call(peer.links[0].gone.wait)
            peer.behave, client.transport._timeout = confirm, REQUEST_TIMEOUT
            assert await client.verdict() is None
        assert len(peer.links) == 2


class Resetting(TcpServer):
    """Takes a connection and resets it on demand, as a proxy does whose server is down."""

    def __init__(self) -> None:
        super().__init__()
        self._go, self._is_over = asyncio.Event(), asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._go.wait()
        reset(writer)
        await asyncio.sleep(0)  # the loop closes the socket in its next round
        self._is_over.set()

    async def reset_now(self) -> None:
        """Returns when the reset is with the client."""
        self._go.set()
        await self._is_over.wait()


@pytest.fixture
def resetting() -> Iterator[Resetting]:
    with Resetting() as server:
        yield server


class Greeting(asyncio.Protocol):
    """Writes at once, as HTTP/2 does."""

    def __init__(self, server: Resetting) -> None:
        self.lost = asyncio.Event()
        # connecting has succeeded, and the reset is there before the transport is
        server.thread.run(server.reset_now)

    def connection_made(self, transport: Any) -> None:
        transport.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


@covers("F07", "grpc")
@pytest.mark.parametrize("anyio_backend", [LOOPS["asyncio"], LOOPS["uvloop"]], ids=["asyncio", "uvloop"])
async def test_a_connection_that_is_reset_at_once_closes_no_descriptor_of_the_application(
    resetting: Resetting, tmp_path: Path
) -> None:
    transport, greeting = await dial(lambda: Greeting(resetting), "127.0.0.1", resetting.port, None)
    await greeting.lost.wait()
    await asyncio.sleep(0.01)
    files = [(tmp_path / str(number)).open("w") for number in range(5)]  # one of them has the connection's number now
    del transport
    gc.collect()
    try:
        for file in files:
            os.fstat(file.fileno())
            file.write("mine")
    finally:
        for file in files:
            file.close()
