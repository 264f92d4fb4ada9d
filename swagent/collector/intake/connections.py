"""The gRPC server that remembers its connections.

grpclib's server forgets the connections it accepts: closing it ends the calls and the listening socket, but leaves
the connections open, and from Python 3.12.1 on its `wait_closed` waits for them without end. So this subclass
remembers each connection. Its `_protocol_factory`, `_mapping` and `_server` are the only touch of grpclib's internals
in the collector.
"""

from __future__ import annotations

import asyncio
from asyncio import BaseTransport, Event, Transport
from typing import Any, cast

import anyio
from grpclib.protocol import H2Protocol
from grpclib.server import Server
from h2.events import UnknownFrameReceived

from ..http_protocol import MAX_CONNECTIONS
from ..listening import accept_no_more
from .grpc import Calls
from .room import Room

# Seconds for replies that were written to leave, then for what was cancelled to end.
GRACE = 0.4


class Connections:
    """The open connections of one server. asyncio only, like all that uses it."""

    def __init__(self) -> None:
        self._open: set[Transport] = set()
        self._empty = Event()
        self._empty.set()
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, transport: Transport) -> None:
        self._open.add(transport)
        self._empty.clear()
        # closing: accepted before the listening socket was closed, made known after
        if self._closing or len(self._open) > MAX_CONNECTIONS:
            transport.abort()

    def lost(self, transport: Transport) -> None:
        self._open.discard(transport)
        if not self._open:
            self._empty.set()

    async def close(self) -> None:
        """Close each connection, after at most `GRACE` seconds hard. Runs to its end even when cancelled."""
        self._closing = True
        for transport in tuple(self._open):
            transport.close()
        with anyio.move_on_after(GRACE, shield=True):
            await self._empty.wait()
        for transport in tuple(self._open):
            transport.abort()


class _Protocol(H2Protocol):
    def __init__(self, made: H2Protocol, connections: Connections) -> None:
        super().__init__(made.handler, made.config, made.h2_config)
        self._connections = connections
        self._transport: Transport | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = cast("Transport", transport)
        super().connection_made(transport)
        # HTTP/2 asks to ignore unknown frames; grpclib would raise into the event loop
        processors: dict[Any, Any] = self.processor.processors
        processors[UnknownFrameReceived] = _ignore
        self._connections.opened(self._transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self._transport is not None:
            self._connections.lost(self._transport)


def _ignore(event: object) -> None:
    """Nothing to do for this frame."""


def answer_all(server: Any, room: Room) -> None:
    """Let a server answer calls that no service takes, too."""
    server._mapping = Calls(server._mapping, room)  # noqa: SLF001


class TrackingServer(Server):
    """grpclib's server that closes its connections when it stops."""

    connections: Connections

    def _protocol_factory(self) -> H2Protocol:
        return _Protocol(super()._protocol_factory(), self.connections)

    @property
    def port(self) -> int:
        """The port that it listens on; that of the first address, where the name has several."""
        port: int = cast("asyncio.Server", self._server).sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Close the listening socket at once, then the calls and connections, within 2 * `GRACE` seconds.
        Runs to its end even when cancelled."""
        try:
            await accept_no_more(cast("asyncio.Server", self._server))
        finally:
            self.close()
        await self.connections.close()
        with anyio.move_on_after(GRACE, shield=True):
            await self.wait_closed()
