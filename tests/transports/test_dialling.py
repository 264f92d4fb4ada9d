"""The way to a connection leaves the application's descriptors alone."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.covering import LOOPS, covers
from kit.servers import TcpServer
from kit.toxics import reset
from swagent_transports._dialling import dial

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return LOOPS[request.param]


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
