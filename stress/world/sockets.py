"""The agent's ends of connections: an asyncio transport for grpclib, a stream for httpcore.

Everything of the agent's own is real, down to `_dialling` and `_http_dialling`. Three functions below them are
replaced: the look-up of a name, and the two that open a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import anyio
import httpcore

from swagent_transports import _http_dialling

from .loop import WorldLoop
from .network import Link, Network

_HIGH = 64 * 1024
_PIECE = 64 * 1024


class StreamTransport(asyncio.Transport):
    """asyncio's end of a connection."""

    def __init__(self, network: Network, link: Link, protocol: Any) -> None:
        super().__init__()
        self._network = network
        self._link = link
        self._protocol = protocol
        self._unsent = bytearray()
        self._is_closing = False
        self._is_lost = False
        self._is_paused = False
        self._is_full = False

    def begin(self) -> None:
        """Read, from now on."""
        self._link.back.on_readable = self._read
        self._link.out.on_room = self._push
        self._link.on_reset = self._note_reset
        self._read()
        if self._link.is_reset:
            self._note_reset()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closing:
            # asyncio's own buffer counts: what is in there may leave at any time
            self._network.note_written(len(data))
            self._unsent += data
            self._push()

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        asyncio.get_running_loop().call_soon(self._read)

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if not self._unsent:
                self._lose(None)

    def abort(self) -> None:
        self._unsent.clear()
        self._is_closing = True
        self._lose(None)

    def _push(self) -> None:
        if self._is_lost:
            return
        count = self._link.out.write(self._unsent)
        del self._unsent[:count]
        if self._is_full != (len(self._unsent) > (0 if self._is_full else _HIGH)):
            self._is_full = not self._is_full
            if self._is_full:
                self._protocol.pause_writing()
            else:
                self._protocol.resume_writing()
        if self._is_closing and not self._unsent:
            self._lose(None)

    def _read(self) -> None:
        while not (self._is_paused or self._is_closing) and (data := self._link.back.read(_PIECE)):
            self._protocol.data_received(data)
        is_over = self._link.back.has_ended and not (self._link.back.arrived or self._is_closing)
        # as asyncio does
        if is_over and not self._protocol.eof_received():
            self.close()

    def _note_reset(self) -> None:
        self._read()
        if not self._is_lost:
            self._is_closing = True
            self._lose(ConnectionResetError(104, "Connection reset by peer"))

    def _lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._link.close()
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, error)


class NetworkStream(httpcore.AsyncNetworkStream):
    """httpcore's end of a connection."""

    def __init__(self, network: Network, link: Link) -> None:
        self._network = network
        self._link = link
        self._changed = anyio.Event()
        link.back.on_readable = link.out.on_room = link.on_reset = self._change

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await anyio.lowlevel.checkpoint()
        back = self._link.back
        with _deadline(timeout, httpcore.ReadTimeout):
            while not (back.arrived or back.has_ended or self._link.is_reset or self._link.is_closed):
                await self._changed.wait()
            if back.arrived:
                return back.read(max_bytes)
            self._check(httpcore.ReadError)
            return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await anyio.lowlevel.checkpoint()
        left = memoryview(buffer)
        with _deadline(timeout, httpcore.WriteTimeout):
            while True:
                self._check(httpcore.WriteError)
                count = self._link.out.write(left)
                self._network.note_written(count)
                left = left[count:]
                if not left:
                    return
                if not count:
                    await self._changed.wait()

    async def aclose(self) -> None:
        self._link.close()
        self._change()
        await anyio.lowlevel.checkpoint()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return bool(self._link.back.arrived) or self._link.back.has_ended or self._link.is_reset
        return None

    def _check(self, kind: type[Exception]) -> None:
        if self._link.is_closed:
            raise kind("closed")
        if self._link.is_reset:
            raise kind("[Errno 104] Connection reset by peer")

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class Backend(httpcore.AsyncNetworkBackend):
    """Where httpcore's connections come from."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        with _deadline(timeout, httpcore.ConnectTimeout):
            try:
                return NetworkStream(self._network, await self._network.connect(host))
            except OSError as error:
                raise httpcore.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


@contextmanager
def _deadline(seconds: float | None, kind: type[Exception]) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise kind(str(error)) from error


@contextmanager
def in_place_of_sockets(network: Network) -> Iterator[None]:
    """Let the agent's transports use this network."""

    async def resolve(host: str, port: int) -> list[str]:
        return await network.resolve(host)

    async def reach(address: str, port: int, seconds: float | None) -> Any:
        attempt = asyncio.ensure_future(network.connect(address))
        try:
            await asyncio.wait({attempt}, timeout=seconds)
            if not attempt.done():
                raise TimeoutError(f"no connection to {address} within {seconds:g} s")
            return attempt.result()
        except BaseException:
            attempt.cancel()
            attempt.add_done_callback(_close)
            raise

    dialler: Callable[[Any], Any] = _http_dialling.Dialler
    with (
        patch("swagent_transports._dialling.resolve", resolve),
        patch("swagent_transports._dialling._reach", reach),
        patch("swagent_transports._http_dialling.resolve", resolve),
        patch("swagent_transports._http_pool.Dialler", lambda _: dialler(Backend(network))),
    ):
        yield


def connect_by(network: Network, loop: WorldLoop) -> None:
    """Let an asyncio loop make its connections in this network."""
    loop.connect = lambda link, protocol: StreamTransport(network, link, protocol)


def _close(attempt: asyncio.Future[Link]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
