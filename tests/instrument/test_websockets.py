"""websockets: the handshake of each of its clients."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from inspect import signature
from typing import Any

import pytest
import websockets.asyncio.client
import websockets.asyncio.server
import websockets.sync.client

from kit.loop_thread import LoopThread
from kit.servers import dead_address
from record.recorded import Recorder
from swagent import local_span
from swagent.record.trace.carrier import Carrier, parse_sw8

from .loops import on_asyncio
from .trees import trees

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import websockets.legacy.client

try:
    trio_client: Any = importlib.import_module("websockets.trio.client")
except ImportError:
    trio_client = None  # of an older version

INSTRUMENTED = ("websockets",)
AGAINST = "its own server"
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
# what older versions do anyway
DIRECTLY: dict[str, Any] = {"proxy": None} if "proxy" in signature(websockets.sync.client.connect).parameters else {}


class Peer:
    """Takes websockets, and keeps what came with their handshakes. `/moved` leads to `/talk/17`."""

    def __init__(self, thread: LoopThread) -> None:
        self.carriers: list[Carrier | None] = []
        self._thread = thread
        self._server: Any = None
        self.address = ""

    async def start(self) -> None:
        self._server = await websockets.asyncio.server.serve(self._talk, "127.0.0.1", 0, process_request=self._look)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _talk(self, connection: Any) -> None:
        async for message in connection:
            await connection.send(message)

    def _look(self, connection: Any, request: Any) -> Any:
        self.carriers.append(parse_sw8(request.headers.get("sw8", "")))
        if request.path == "/moved":
            response = connection.respond(HTTPStatus.FOUND, "")
            response.headers["Location"] = "/talk/17"
            return response
        return connection.respond(HTTPStatus.NOT_FOUND, "") if request.path == "/nowhere" else None


@pytest.fixture
def peer() -> Iterator[Peer]:
    with LoopThread() as thread:
        peer = Peer(thread)
        thread.run(peer.start)
        yield peer
        thread.run(peer.stop)


@asynccontextmanager
async def by_new(uri: str) -> AsyncIterator[Any]:
    async with websockets.asyncio.client.connect(uri, **DIRECTLY) as connection:
        yield connection


@asynccontextmanager
async def by_legacy(uri: str) -> AsyncIterator[Any]:
    async with websockets.legacy.client.connect(uri) as connection:
        yield connection


Connect = Callable[[str], Any]


async def _check(recorder: Recorder, peer: Peer, connect: Connect) -> None:
    with local_span("job"):
        async with connect(f"ws://{peer.address}/talk/17?token=secret") as connection:
            await connection.send("a")
            assert await connection.recv() == "a"
    _recorded_once(recorder, peer)


def _recorded_once(recorder: Recorder, peer: Peer) -> None:
    assert trees(recorder) == (
        "Local job\n"
        f"  Exit /talk/{{id}} WEBSOCKETS/HTTP {peer.address} http.method=GET "
        f"http.url=ws://{peer.address}/talk/{{id}} http.status_code=101"
    )
    (carrier,) = peer.carriers
    assert carrier is not None
    assert (carrier.segment_id, carrier.span_id, carrier.address) == (recorder.only.id, 1, peer.address)


@on_asyncio
@pytest.mark.parametrize("connect", [by_new, by_legacy], ids=["new", "legacy"])
async def test_the_handshake_is_a_span_and_carries_the_context(
    connect: Connect, recorder: Recorder, peer: Peer
) -> None:
    await _check(recorder, peer, connect)


@pytest.mark.skipif(trio_client is None, reason="this version has no client for trio")
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", [("trio", {})], ids=["trio"])
async def test_of_the_client_for_trio_too(recorder: Recorder, peer: Peer) -> None:
    await _check(recorder, peer, lambda uri: trio_client.connect(uri, **DIRECTLY))


def test_of_the_client_for_threads_too(recorder: Recorder, peer: Peer) -> None:
    with local_span("job"), websockets.sync.client.connect(f"ws://{peer.address}/talk/17", **DIRECTLY) as connection:
        connection.send("a")
        assert connection.recv() == "a"
    _recorded_once(recorder, peer)


@on_asyncio
@pytest.mark.parametrize("connect", [by_new, by_legacy], ids=["new", "legacy"])
async def test_a_handshake_that_is_refused_failed(connect: Connect, recorder: Recorder, peer: Peer) -> None:
    with pytest.raises(websockets.exceptions.InvalidHandshake):
        async with connect(f"ws://{peer.address}/nowhere"):
            pass
    assert trees(recorder).endswith("http.status_code=404 FAILED")
    with dead_address() as address, pytest.raises(OSError):
        async with connect(f"ws://{address}/talk"):
            pass
    assert recorder.span("/talk").failed


@on_asyncio
async def test_a_redirect_belongs_to_its_handshake(recorder: Recorder, peer: Peer) -> None:
    async with by_new(f"ws://{peer.address}/moved"):
        pass
    assert recorder.names == [["/moved"]]
    assert [carrier and carrier.segment_id for carrier in peer.carriers] == [recorder.only.id] * 2
