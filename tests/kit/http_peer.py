"""A collector at HTTP/1.1 level that misbehaves as ordered, call by call.

    with HttpPeer(confirm) as peer:
        ...
        peer.behave = status(503, "Retry-After: 7")
        ...
        assert len(peer.calls) == 2 and len(peer.links) == 1

h11 reads the requests, sans I/O; answers are bytes past it, so that they can be as wrong as they like.
`http_answers` has the behaviours.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

import h11

from kit.servers import Behaviour, TcpServer


class Link:
    """One connection."""

    def __init__(self, peer: HttpPeer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.peer = peer
        self.reader = reader
        self.writer = writer
        self.sent = 0
        self.gone = asyncio.Event()
        self._h11 = h11.Connection(h11.SERVER)

    async def next_call(self) -> Call | None:
        """The head of the next request; None at the connection's end."""
        left, _ = self._h11.trailing_data
        self._h11 = h11.Connection(h11.SERVER)  # answers go past it, so it cannot begin a second cycle
        self._h11.receive_data(left) if left else None
        event = await self.next_event()
        return Call(self, event) if isinstance(event, h11.Request) else None

    async def next_event(self) -> Any:
        """The next event of h11's."""
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            self._h11.receive_data(await self.reader.read(65_536))
        return event

    async def write(self, data: bytes) -> None:
        """Write bytes, as one piece or in slices."""
        size = self.peer.slice or len(data)
        for start in range(0, len(data), size or 1):
            self.sent += len(data[start : start + size])
            self.writer.write(data[start : start + size])
            await self.writer.drain()
            if self.peer.slice:
                await asyncio.sleep(0)

    def hang_up(self) -> None:
        """Let the client see the end of the stream, after all that was written."""
        self.writer.close()

    def abort(self) -> None:
        """Reset the connection."""
        self.writer.transport.abort()


class Call:
    """One request as the peer sees it."""

    def __init__(self, link: Link, request: h11.Request) -> None:
        self.link = link
        self.method = request.method.decode()
        self.path = request.target.decode()
        self.headers = {name.decode(): value.decode() for name, value in request.headers}
        self.body = bytearray()
        self.is_complete = False

    async def read_body(self) -> None:
        """Take the request's body; ends early when the client leaves."""
        while not self.is_complete:
            event = await self.link.next_event()
            if isinstance(event, h11.Data):
                self.body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self.is_complete = True
            else:
                return

    @property
    def json(self) -> Any:
        """The request's body, parsed."""
        return json.loads(self.body)


class HttpPeer(TcpServer):
    """Listens and behaves.

    :ivar links: every connection that was made
    :ivar calls: every call whose head came
    """

    def __init__(
        self,
        behave: Behaviour,
        *,
        eager: bool = False,
        slice: int = 0,  # noqa: A002
        host: str = "127.0.0.1",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """:param eager: behave as soon as a request's head is there, and leave its body unread
        :param slice: the size of each write; 0 for whole pieces
        """
        super().__init__(host, context)
        self.behave = behave
        self.eager = eager
        self.slice = slice
        self.links: list[Link] = []
        self.calls: list[Call] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(self, reader, writer)
        self.links.append(link)
        try:
            while (call := await link.next_call()) is not None:
                self.calls.append(call)
                if not self.eager:
                    await call.read_body()
                await self.behave(call)
                await call.read_body()
        except h11.RemoteProtocolError:
            return  # the client left amid a request
        finally:
            link.gone.set()

    def records(self, path: str = "/v3/segments") -> list[bytes]:
        """Every record whose array came whole, byte for byte as `b'"..."'` or `{...}` without spaces."""
        arrays = [call.json for call in self.calls if call.path == path and call.is_complete]
        return [json.dumps(each, separators=(",", ":")).encode() for array in arrays for each in array]
