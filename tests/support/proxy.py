"""A TCP proxy that cuts a connection after so many bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from .servers import TcpServer


class Proxy(TcpServer):
    """Forwards to a server; each connection is cut when either direction has carried its limit.

    :ivar up: how many bytes of the client get through
    :ivar down: how many bytes of the server get through
    :ivar resets: whether the client sees a reset, or just the end
    """

    def __init__(self, target: int) -> None:
        super().__init__()
        self.up: int | None = None
        self.down: int | None = None
        self.resets = True
        self._target = target

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._target)
        up = asyncio.ensure_future(self._forward(reader, inner_writer, self.up))
        down = asyncio.ensure_future(self._forward(inner_reader, writer, self.down))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._end(writer.transport)
            inner_writer.transport.abort()
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    def _end(self, transport: asyncio.WriteTransport) -> None:
        ending: Callable[[], None] = transport.abort if self.resets else transport.close
        ending()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> None:
        left = limit
        with suppress(OSError):
            while left is None or left > 0:
                data = await reader.read(65_536 if left is None else left)
                if not data:
                    return
                left = None if left is None else left - len(data)
                writer.write(data)
                await writer.drain()
