"""TCP servers in a thread: the base of every hostile peer, and the simplest of them. `Parrot()` takes connections and
stays silent, `dead_address()` is an address where nothing listens, `collector_thread()` runs the embedded
collector.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Any

from typing_extensions import Self

from swagent.collector.listening import accept_no_more
from swagent.collector.server import Collector

from .loop_thread import LoopThread

Behaviour = Callable[[Any], Awaitable[None]]
"""What a peer does with a call: see `kit.answers` and `kit.http_answers`."""


class TcpServer:
    """Serves each connection with `serve`; stopping aborts them. Runs in its own loop thread as a `with` block."""

    def __init__(self, host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> None:
        self.connected = 0
        self._host = host
        self._port = 0
        self._context = context
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.thread = LoopThread()

    @property
    def address(self) -> str:
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    async def start(self) -> None:
        """Listen, at the port of the last time."""
        self._server = await asyncio.start_server(self._accept, self._host, self._port, ssl=self._context)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and every connection, hard."""
        server, self._server = self._server, None
        if server is not None:
            await accept_no_more(server)
            server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk to one client until either side has enough."""
        raise NotImplementedError

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:  # accepted by the loop before the port was closed, and handed over after
            writer.transport.abort()
            return
        self.connected += 1
        # a reset that is not looked at is reported, too
        asyncio.ensure_future(writer.wait_closed()).add_done_callback(lambda end: end.cancelled() or end.exception())
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            await self.serve(reader, writer)

    def __enter__(self) -> Self:
        self.thread.__enter__()
        self.thread.run(self.start)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thread.run(self.stop)
        self.thread.__exit__(kind, error, trace)


class Parrot(TcpServer):
    """Answers whatever comes with fixed bytes, then waits or hangs up. Keeps all that it heard."""

    def __init__(
        self, answer: bytes = b"", *, hang_up: bool = False, host: str = "127.0.0.1",
        context: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        super().__init__(host, context)
        self.heard = bytearray()
        self._answer = answer
        self._hang_up = hang_up

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            self.heard += data
            writer.write(self._answer)
            await writer.drain()
            if self._hang_up:
                return


@contextmanager
def dead_address(host: str = "127.0.0.1") -> Iterator[str]:
    """An address whose port is taken, so that no other program gets it, and where connections are refused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as reserved:
        reserved.bind((host, 0))
        port = reserved.getsockname()[1]
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def full_backlog(host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """The address of a listener whose backlog is full: it answers no SYN."""
    with ExitStack() as stack, socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(0)
        host, port = listener.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((host, port))
        yield f"{host}:{port}"


@contextmanager
def collector_thread(collector: Collector | None = None) -> Iterator[tuple[Collector, LoopThread]]:
    """The embedded collector, started in a thread; start and stop it again through the thread:
    `await thread.call(collector.stop)`."""
    collector = Collector() if collector is None else collector
    with LoopThread() as thread:
        thread.run(collector.start)
        try:
            yield collector, thread
        finally:
            thread.run(collector.stop)
