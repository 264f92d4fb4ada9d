"""The proxy does what it says: a fault that it does not make would prove nothing."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kit.proxy import Ending, Proxy
from kit.servers import TcpServer, dead_address
from kit.stopwatch import Stopwatch
from kit.toxics import Toxics

TEXT = random.Random(1).randbytes(20_000)


class Echo(TcpServer):
    """Sends back what it hears; at the client's end it says goodbye."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = bytearray()
        self.ended = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            self.heard += data
            writer.write(data)
            await writer.drain()
        self.ended = True
        writer.write(b"goodbye")
        writer.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as echo:
        yield echo


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(echo.port) as proxy:
        yield proxy


@contextmanager
def connected(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=2.0) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield client


def exchange(client: socket.socket, text: bytes = TEXT) -> tuple[bytes, float]:
    """The bytes that came back, and after how many seconds."""
    began = time.monotonic()
    client.sendall(text)
    heard = read(client, len(text))
    return heard, time.monotonic() - began


def exchange_until_end(client: socket.socket) -> None:
    exchange(client)
    client.recv(1)


def read(client: socket.socket, size: int) -> bytes:
    heard = bytearray()
    while len(heard) < size and (data := client.recv(65_536)):
        heard += data
    return bytes(heard)


def test_forwards_everything_and_the_end_of_each_way_alone(echo: Echo, proxy: Proxy) -> None:
    with connected(proxy) as client:
        assert exchange(client)[0] == TEXT
        assert proxy.open == 1
        client.shutdown(socket.SHUT_WR)
        assert read(client, 1000) == b"goodbye", "the other way is still open"
        assert client.recv(1) == b""
    assert echo.ended
    assert (proxy.up.carried, proxy.down.carried) == (len(TEXT), len(TEXT) + len(b"goodbye"))


def test_latency_delays_all_and_does_not_add_up(proxy: Proxy) -> None:
    proxy.set(latency=0.1)
    with connected(proxy) as client:
        watch = Stopwatch()
        for _ in range(10):
            client.sendall(b"ping")
            time.sleep(0.005)
        assert read(client, 40) == b"ping" * 10
        assert watch.seconds >= 0.2
        assert watch.own_seconds < 0.9


def test_jitter_never_reorders(proxy: Proxy) -> None:
    proxy.set(jitter=0.02)
    with connected(proxy) as client:
        for number in range(20):
            client.sendall(b"%04d" % number)
            time.sleep(0.001)
        assert read(client, 80) == b"".join(b"%04d" % number for number in range(20))


def test_rate_is_kept(proxy: Proxy) -> None:
    proxy.up.rate = 100_000
    with connected(proxy) as client:
        heard, seconds = exchange(client)
    assert heard == TEXT
    assert 0.18 <= seconds < 1.5


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


@pytest.mark.parametrize("offset", [0, 1, 17, 19_999])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_limit_carries_so_much_and_resets(echo: Echo, proxy: Proxy, direction: str, offset: int) -> None:
    toxics = getattr(proxy, direction)
    toxics.limit = offset
    with pytest.raises(ConnectionResetError), connected(proxy) as client:
        exchange_until_end(client)
    wait_until(lambda: toxics.carried == offset)
    if direction == "up":
        wait_until(lambda: echo.heard == TEXT[:offset])
    toxics.limit = None
    with connected(proxy) as client:
        assert exchange(client)[0] == TEXT


def test_limit_of_an_open_connection(echo: Echo, proxy: Proxy) -> None:
    with connected(proxy) as client:
        exchange(client)
        proxy.cut(up=5)
        with pytest.raises(ConnectionResetError):
            exchange_until_end(client)
    wait_until(lambda: echo.heard == TEXT + TEXT[:5])
    with connected(proxy) as client:
        assert exchange(client)[0] == TEXT


@pytest.mark.parametrize("ending", ["end", "half", "hole"])
def test_other_endings(echo: Echo, proxy: Proxy, ending: Ending) -> None:
    proxy.ending, proxy.down.limit = ending, 5
    with connected(proxy) as client:
        client.sendall(TEXT[:100])
        assert client.recv(100) == TEXT[:5]
        if ending == "hole":
            client.settimeout(0.1)
            with pytest.raises(TimeoutError):
                client.recv(1)
        else:
            assert client.recv(1) == b""
        client.sendall(b"more")
        client.shutdown(socket.SHUT_WR)
        wait_until(lambda: echo.ended)
    assert echo.heard == TEXT[:100] + (b"" if ending == "end" else b"more")


def test_hole_takes_everything_until_the_connection_is_severed(echo: Echo, proxy: Proxy) -> None:
    with connected(proxy) as client:
        exchange(client)
        proxy.set(hole=True)
        client.sendall(TEXT * 100)
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        # all of it may still be in the kernel, for the proxy to read when it is healed
        wait_until(lambda: all(link.up._is_hole for link in proxy._links))
        proxy.heal()
        client.sendall(b"too late")
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(2.0)
        proxy.thread.run(proxy.sever)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with connected(proxy) as client:
        assert exchange(client)[0] == TEXT
    assert echo.heard == TEXT * 2


def test_goes_down_and_up_at_the_same_port(proxy: Proxy) -> None:
    for _ in range(3):
        with connected(proxy) as client:
            exchange(client)
            proxy.thread.run(proxy.stop)
            assert read_end(client) in (b"", None)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port))
        proxy.thread.run(proxy.start)
    assert proxy.connected == 3


def test_server_that_is_away_is_a_reset() -> None:
    with dead_address() as address:
        reset_at(address)


def reset_at(address: str) -> None:
    port = int(address.rpartition(":")[2])
    with Proxy(port) as proxy, pytest.raises(ConnectionResetError), connected(proxy) as client:
        client.recv(1)


def test_wrong_toxic_is_an_error(proxy: Proxy) -> None:
    with pytest.raises(AttributeError):
        proxy.set(lateness=1)


def test_runs_in_the_loop_that_is_there(echo: Echo) -> None:
    async def talk() -> bytes:
        proxy = Proxy(echo.port)
        await proxy.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(TEXT)
        heard = await reader.readexactly(len(TEXT))
        writer.close()
        await proxy.stop()
        return heard

    assert asyncio.run(talk()) == TEXT


def read_end(client: socket.socket) -> bytes | None:
    try:
        return client.recv(1)
    except ConnectionResetError:
        return None


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 2.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
