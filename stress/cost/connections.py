"""uvicorn's protocol on connections that are not there: bytes are handed in, and what is written is looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from .counter import Counter

CONNECTIONS = 32
_REQUEST_NS = 80_000
"""The time that passes on the clock with each answer: about as much as a request takes."""
_WAIT_NS = 5_000_000
"""The time that passes where no answer comes any more: the handlers wait for so long."""
_TURNS_OF_A_HANDLER = 3
_MOST_TURNS = 1000
_PEER, _LOCAL = "127.0.0.1", ("127.0.0.1", 8000)


class Line(asyncio.Transport):
    """The server's end of a connection. An answer lets time pass."""

    def __init__(self, port: int, counter: Counter) -> None:
        super().__init__({"peername": (_PEER, port), "sockname": _LOCAL})
        self._advance = counter.advance
        self.answered = 0
        self.strange: list[bytes] = []
        """Answers that are none."""

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Half an answer: its head, or its body."""
        if data[:9] == b"HTTP/1.1 ":
            self._advance(_REQUEST_NS)
            if data[9:12] == b"200":
                self.answered += 1
            else:
                self.strange.append(bytes(data))

    def is_closing(self) -> bool:
        """A client that keeps its connection."""
        return False

    def close(self) -> None:
        """Nothing to close."""


class Server:
    """The application on its connections."""

    def __init__(self, app: Any, counter: Counter) -> None:
        config = Config(app, loop="none", http="httptools", lifespan="off", access_log=False)
        config.load()
        self._advance = counter.advance
        self._state = ServerState()
        # as uvicorn does each second
        date = formatdate(time.time(), usegmt=True).encode()
        self._state.default_headers = [(b"date", date), *config.encoded_headers]
        self._lines = [Line(40_000 + number, counter) for number in range(CONNECTIONS)]
        loop = asyncio.get_running_loop()
        self._protocols = [HttpToolsProtocol(config, self._state, {}, loop) for _ in self._lines]
        for protocol, line in zip(self._protocols, self._lines, strict=True):
            protocol.connection_made(line)

    async def serve(self, requests: Sequence[bytes]) -> None:
        """Serve them, as many at a time as there are connections.

        :raises RuntimeError: an answer was none, or did not come
        """
        for first in range(0, len(requests), CONNECTIONS):
            for protocol, request in zip(self._protocols, requests[first:], strict=False):
                protocol.data_received(request)
            await self._until_answered(self._state.total_requests + min(CONNECTIONS, len(requests) - first))

    async def _until_answered(self, expected: int) -> None:
        turns = 0
        while self._state.total_requests < expected:
            await asyncio.sleep(0)
            turns += 1
            if turns % _TURNS_OF_A_HANDLER == 0:
                self._advance(_WAIT_NS)
            if turns > _MOST_TURNS:
                raise RuntimeError(f"{expected - self._state.total_requests} requests were not answered")
        if strange := [answer for line in self._lines for answer in line.strange]:
            raise RuntimeError(f"not answered as expected: {strange[0]!r}")

    @property
    def answered(self) -> int:
        """How many requests were answered with 200."""
        return sum(line.answered for line in self._lines)
