"""Those who make requests of an application, and note what was answered and when."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio

from faults.processes.apps import App

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)\r\n")
# on one connection: uvicorn forgets to close one that it takes in the very moment in which it shuts down, and would
# wait for it
_REQUESTS = 10
_GONE = (OSError, asyncio.IncompleteReadError)


class Clients:
    """All clients of one application.

    :ivar answered: when each answer was complete, in monotonic seconds, by the trace's id
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.answered: dict[str, float] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def ask(self, count: int) -> None:
        """Make so many requests, one after the other, on one connection."""
        reader, writer = await self._connect()
        for _ in range(count):
            await self._ask_once(reader, writer, "/items/1")
        writer.close()

    def start(self, count: int, rate: float) -> None:
        """Let so many clients ask until `stop()`; who is cut off comes again.

        :param rate: requests a second of each
        """
        self._tasks += [asyncio.create_task(self._keep_asking(rate)) for _ in range(count)]

    async def stop(self) -> None:
        """No more requests."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_answered(self, count: int, timeout: float = 30) -> None:
        """Wait until so many were answered."""
        with anyio.fail_after(timeout):
            while len(self.answered) < count:  # noqa: ASYNC110  (it is seconds at most, and there is no event)
                await asyncio.sleep(0.01)

    @asynccontextmanager
    async def open_stream(self) -> AsyncIterator[None]:
        """A response that has begun and does not end for as long as the block lasts."""
        reader, writer = await self._connect()
        writer.write(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await reader.read(1)
        try:
            yield
        finally:
            writer.close()

    def start_one(self, path: str) -> None:
        """Make one request, and wait for its answer until `stop()`."""

        async def ask() -> None:
            reader, writer = await self._connect()
            try:
                await self._ask_once(reader, writer, path)
            except _GONE:
                return
            finally:
                writer.close()

        self._tasks.append(asyncio.create_task(ask()))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.app.port)

    async def _ask_once(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        assert length is not None, head
        text = (await reader.readexactly(int(length[1]))).decode()
        if head.startswith(b"HTTP/1.1 200 "):
            self.answered[text] = time.monotonic()

    async def _keep_asking(self, rate: float) -> None:
        while True:
            with suppress(*_GONE):
                reader, writer = await self._connect()
                try:
                    for _ in range(_REQUESTS):
                        await self._ask_once(reader, writer, "/items/1")
                        await asyncio.sleep(1 / rate)
                finally:
                    writer.close()
            await asyncio.sleep(0.02)
