"""The troubles that a proxy makes for the bytes of one direction."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from random import Random

_PIECE = 65_536
_LONGEST_QUEUE = 64
# shorter sleeps come out longer, so they are saved up
_LEAST_SLEEP = 0.001
_LINGER_NOT = struct.pack("ii", 1, 0)


@dataclass
class Toxics:
    """The troubles of one direction. Change it at any time, from any thread: open connections feel it too.

    :ivar latency: seconds that everything takes longer
    :ivar jitter: seconds, up to so many more, drawn for each piece
    :ivar rate: bytes per second; 0: as fast as can be
    :ivar slice: bytes that are written at once, at most; 0: as they came
    :ivar gather: seconds for which bytes are held, to go on in one piece
    :ivar limit: bytes that a new connection carries before its end
    :ivar hole: take everything, forward nothing; a connection that lost something so stays a hole until its end
    :ivar carried: how many bytes came through, over all connections
    """

    latency: float = 0.0
    jitter: float = 0.0
    rate: float = 0.0
    slice: int = 0
    gather: float = 0.0
    limit: int | None = None
    hole: bool = False
    carried: int = 0

    def heal(self) -> None:
        """Forward everything as it comes."""
        self.__dict__.update(Toxics(carried=self.carried).__dict__)


class Pipe:
    """One direction of one connection.

    :ivar left: how many bytes more it carries; None: without limit
    """

    def __init__(
        self, toxics: Toxics, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, random: Random
    ) -> None:
        self.left = toxics.limit
        self._toxics = toxics
        self._reader = reader
        self._writer = writer
        self._random = random
        self._is_hole = False
        self._due = 0.0
        self._debt = 0.0
        # empty bytes mark the end
        self._under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_LONGEST_QUEUE)

    async def run(self) -> bool:
        """Forward until the limit is carried, or until the sender's end, which is passed on.

        :returns: whether it was the limit
        :raises OSError: when either side breaks
        """
        taking, giving = asyncio.ensure_future(self._take()), asyncio.ensure_future(self._give())
        try:
            done, _ = await asyncio.wait({taking, giving}, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            is_full = taking.result()
        finally:
            taking.cancel()
            giving.cancel()
            await asyncio.gather(taking, giving, return_exceptions=True)
        if not is_full and not self._is_hole:
            self.end()
        return is_full

    async def swallow(self) -> None:
        """Take what still comes, and forward nothing."""
        while await self._reader.read(_PIECE):
            pass

    def end(self) -> None:
        """Let the receiver see the end of the stream."""
        with suppress(OSError, RuntimeError):  # it is gone already
            self._writer.write_eof()

    async def _take(self) -> bool:
        loop, toxics = asyncio.get_running_loop(), self._toxics
        while self.left != 0 and (data := await self._reader.read(_PIECE)):
            self._is_hole = self._is_hole or toxics.hole
            if self._is_hole:
                continue
            if self.left is not None:
                data = data[: self.left]
                self.left -= len(data)
            # later bytes never overtake earlier ones
            delay = toxics.latency + toxics.jitter * self._random.random()
            self._due = max(self._due, loop.time() + delay)
            if data:
                await self._under_way.put((self._due, data))
        await self._under_way.put((self._due, b""))
        return self.left == 0

    async def _give(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await self._under_way.get()
            if (delay := due - loop.time()) > 0:
                await asyncio.sleep(delay)
            if not data:
                return
            if self._toxics.gather:
                await asyncio.sleep(self._toxics.gather)
                data += await self._gather()
            await self._write(data)

    async def _gather(self) -> bytes:
        found = b""
        while not self._under_way.empty():
            due, data = self._under_way.get_nowait()
            if not data:
                await self._under_way.put((due, data))
                break
            found += data
        return found

    async def _write(self, data: bytes) -> None:
        while data:
            toxics = self._toxics
            size = min(toxics.slice or len(data), max(1, round(toxics.rate / 20)) if toxics.rate else len(data))
            piece, data = data[:size], data[size:]
            await self._pace(len(piece))
            # before a reader can see the piece
            toxics.carried += len(piece)
            self._writer.write(piece)
            await self._writer.drain()

    async def _pace(self, size: int) -> None:
        rate = self._toxics.rate
        if rate:
            self._debt += size / rate
        if self._debt < _LEAST_SLEEP:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(self._debt)
        self._debt -= loop.time() - began


def reset(writer: asyncio.StreamWriter) -> None:
    """Drop a connection so that the other side sees RST, whatever is read or not."""
    with suppress(OSError):  # it is gone already
        found: socket.socket | None = writer.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    writer.transport.abort()
