"""Pieces are cut and gathered as the proxy says. All else that it does shows in the tests of the faults."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kit.proxy import Proxy
from kit.servers import TcpServer
from kit.toxics import Toxics

TEXT = random.Random(1).randbytes(20_000)


class Echo(TcpServer):
    """Sends back what it hears."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Echo() as echo, Proxy(echo.port) as proxy:
        yield proxy


@contextmanager
def connected(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=2.0) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield client


def read(client: socket.socket, size: int) -> bytes:
    heard = bytearray()
    while len(heard) < size and (data := client.recv(65_536)):
        heard += data
    return bytes(heard)


class Noted(Toxics):
    """Keeps the size of each piece that is written."""

    def __init__(self) -> None:
        self.pieces: list[int] = []
        super().__init__()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "carried" and value:
            self.pieces.append(value - self.carried)
        super().__setattr__(name, value)


def test_slices_and_all_is_there(proxy: Proxy) -> None:
    proxy.down = noted = Noted()
    proxy.set(slice=1, rate=20_000)
    with connected(proxy) as client:
        client.sendall(TEXT[:200])
        assert read(client, 200) == TEXT[:200]
    # counted where they are written: the kernel joins what a reader comes late for
    assert noted.pieces == [1] * 200


@pytest.mark.slow
def test_gathers_what_came_one_by_one(proxy: Proxy) -> None:
    proxy.down.gather = 1.0
    with connected(proxy) as client:
        for _ in range(5):
            client.sendall(b"ping")
            time.sleep(0.005)
        assert client.recv(65_536) == b"ping" * 5
