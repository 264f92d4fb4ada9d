"""A collector at HTTP/2 level that misbehaves as ordered, call by call.

    with H2Peer(answers.confirm) as peer:
        ...
        peer.behave = answers.reset(ErrorCodes.REFUSED_STREAM)
        ...
        assert len(peer.calls) == 2 and len(peer.links) == 1

The protocol is h2's server side, sans I/O; the sockets are asyncio's, in a thread of their own. `behave` is awaited
once for each call, when its request is complete, or when its headers are there (`eager`); `kit.answers` has many.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Mapping, Sequence

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from typing_extensions import Self

from .servers import Behaviour, TcpServer

Header = tuple[bytes, bytes]
_PREFIX = struct.Struct(">?I")


def message(payload: bytes, *, declared: int | None = None, compressed: bool = False) -> bytes:
    """One length-prefixed gRPC message, honest unless the test says otherwise."""
    return _PREFIX.pack(compressed, len(payload) if declared is None else declared) + payload


class Link:
    """One connection."""

    def __init__(self, peer: H2Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        config = H2Configuration(
            client_side=False, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.h2 = H2Connection(config)
        self.calls: dict[int, Call] = {}
        self.sent = 0
        self.gone = asyncio.Event()
        self._peer = peer
        self._reader = reader
        self._writer = writer
        self._window = asyncio.Event()
        self._writing = asyncio.Lock()
        self._held: bytearray | None = None
        self._has_greeted = False
        self._behaviours: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Greet, then take what the client sends until it leaves."""
        if self._peer.settings:
            self.h2.local_settings = Settings(client=False, initial_values=dict(self._peer.settings))
        self.h2.initiate_connection()
        if self._peer.greets:
            await self.greet()
        try:
            while data := await self._reader.read(65_536):
                for event in self.h2.receive_data(data):
                    self._take(event)
                if self._has_greeted:
                    await self.flush()
        except ProtocolError as error:
            self._peer.complaints.append(error)
        finally:
            self.gone.set()
            for task in self._behaviours:
                task.cancel()
            await asyncio.gather(*self._behaviours, return_exceptions=True)

    async def greet(self) -> None:
        """Send the SETTINGS that a connection begins with."""
        self._has_greeted = True
        await self.flush()

    async def flush(self) -> None:
        """Write what h2 has to say, as one piece or in slices."""
        async with self._writing:
            await self._write(self.h2.data_to_send())

    async def write(self, data: bytes) -> None:
        """Write bytes past h2."""
        async with self._writing:
            await self._write(data)

    def hold(self) -> None:
        """Write nothing until `release`."""
        self._held = bytearray()

    async def release(self) -> None:
        """Write all that was held back, as one piece."""
        held, self._held = self._held, None
        await self.write(bytes(held or b""))

    async def _write(self, data: bytes) -> None:
        if self._held is not None:
            self._held += data
            return
        size = self._peer.slice or len(data)
        for start in range(0, len(data), size or 1):
            self._writer.write(data[start : start + size])
            await self._writer.drain()
            if self._peer.slice:
                await asyncio.sleep(0)
        self.sent += len(data)

    def hang_up(self) -> None:
        """Let the client see the end of the stream, after all that was written."""
        self._writer.close()

    def abort(self) -> None:
        """Reset the connection."""
        self._writer.transport.abort()

    def stop_reading(self) -> None:
        """Let what the client sends wait in the kernel, and then with the client."""
        self._reader._transport.pause_reading()  # type: ignore[attr-defined]

    async def wait_window(self, stream_id: int) -> int:
        """How much the client lets us send on a stream now, once it is more than nothing."""
        while not (size := min(self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size)):
            self._window.clear()
            await self._window.wait()
        return size

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            call = self.calls[event.stream_id] = Call(self, event.stream_id, dict(event.headers))
            self._peer.calls.append(call)
            if self._peer.eager:
                self._behave(call)
        elif isinstance(event, DataReceived):
            call = self.calls[event.stream_id]
            call.body += event.data
            call.data_frames += 1
            if not self._peer.stingy:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.calls[event.stream_id].is_complete = True
            if not self._peer.eager:
                self._behave(self.calls[event.stream_id])
        elif isinstance(event, StreamReset):
            self.calls[event.stream_id].was_reset.set()
        elif isinstance(event, WindowUpdated):
            self._window.set()

    def _behave(self, call: Call) -> None:
        task = asyncio.ensure_future(self._peer.behave(call))
        self._behaviours.add(task)
        task.add_done_callback(self._peer.note)


class Call:
    """One request as the peer sees it, and the means to answer it."""

    def __init__(self, link: Link, stream_id: int, headers: Mapping[bytes, bytes]) -> None:
        self.link = link
        self.stream_id = stream_id
        self.headers = headers
        self.body = bytearray()
        self.data_frames = 0
        self.is_complete = False
        self.was_reset = asyncio.Event()

    @property
    def messages(self) -> list[bytes]:
        """The request's gRPC messages."""
        found, position = [], 0
        while position < len(self.body):
            _, length = _PREFIX.unpack_from(self.body, position)
            position += _PREFIX.size
            found.append(bytes(self.body[position : position + length]))
            position += length
        return found

    def head(self, headers: Sequence[Header], *, end: bool = False) -> Self:
        """Queue a HEADERS frame (trailers too)."""
        self.link.h2.send_headers(self.stream_id, headers, end_stream=end)
        return self

    def data(self, data: bytes, *, end: bool = False) -> Self:
        """Queue a DATA frame that fits the window."""
        self.link.h2.send_data(self.stream_id, data, end_stream=end)
        return self

    async def send(self) -> None:
        """Write what is queued, in one piece."""
        await self.link.flush()


class H2Peer(TcpServer):
    """Listens, greets, and behaves.

    :ivar links: every connection that was made
    :ivar calls: every call that was begun
    :ivar complaints: what h2 found wrong with a client
    """

    def __init__(
        self,
        behave: Behaviour,
        *,
        settings: Mapping[SettingCodes, int] | None = None,
        eager: bool = False,
        stingy: bool = False,
        greets: bool = True,
        slice: int = 0,  # noqa: A002
        host: str = "127.0.0.1",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """:param eager: behave as soon as a request's headers are there
        :param stingy: never open the window for the request's body again
        :param greets: send the first SETTINGS at once; else `links[0].greet` does
        :param slice: the size of each write; 0 for whole pieces
        """
        super().__init__(host, context)
        self.behave = behave
        self.settings = settings or {}
        self.eager = eager
        self.stingy = stingy
        self.greets = greets
        self.slice = slice
        self.links: list[Link] = []
        self.calls: list[Call] = []
        self.complaints: list[Exception] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(self, reader, writer)
        self.links.append(link)
        await link.run()

    @property
    def records(self) -> list[bytes]:
        """Every message that came, in the order of the calls."""
        return [each for call in self.calls for each in call.messages]

    def note(self, task: asyncio.Task[None]) -> None:
        """Remember why a behaviour failed, unless the client merely left."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, (OSError, ProtocolError)):
            self.thread.problems.append({"exception": error})
