"""A TCP proxy that does to its connections what networks do: slow, sliced, cut, silent, gone.

    with Proxy(server.port) as proxy:
        proxy.up.latency = 0.1                 # towards the server, from now on
        proxy.down.hole = True                 # nothing comes back any more
        proxy.cut(up=17)                       # open connections end after 17 bytes more
        await proxy.thread.call(proxy.stop)    # nothing listens; `start` listens at the same port

As a `with` block it runs in its own loop thread; `await proxy.start()` runs it in the loop that is running.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from typing import Literal

from .servers import TcpServer
from .toxics import Pipe, Toxics, reset

Ending = Literal["reset", "end", "half"]
"""The end of a connection that has carried its limit: RST; FIN both ways; FIN the way that is full."""
# Seconds that a client may take to hang up after it saw the end.
_GOODBYE = 1.0


@dataclass(frozen=True, eq=False)
class _Link:
    up: Pipe
    down: Pipe
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter

    def sever(self) -> None:
        reset(self.client)
        reset(self.server)


class Proxy(TcpServer):
    """Forwards to a server on loopback.

    :ivar up: what is done to the bytes that go to the server
    :ivar down: what is done to those that come from it
    :ivar ending: how a connection ends that has carried its limit
    """

    def __init__(self, target: int, *, host: str = "127.0.0.1", port: int = 0) -> None:
        """
        :param target: the server's port
        :param port: where to listen; 0: any
        """
        super().__init__(host)
        self.up = Toxics()
        self.down = Toxics()
        self.ending: Ending = "reset"
        self._port = port
        self._target = target
        self._random = Random(0)
        self._links: set[_Link] = set()

    def set(self, ending: Ending | None = None, **values: float | None) -> None:
        """Set toxics of both directions: `proxy.set(latency=0.1, jitter=0.05)`. Any thread."""
        self.ending = ending or self.ending
        for toxics in (self.up, self.down):
            for name, value in values.items():
                getattr(toxics, name)  # a wrong name is an error
                setattr(toxics, name, value)

    def heal(self) -> None:
        """Take all toxics away. Any thread. Connections that lost something stay as they are: see `sever`."""
        self.up.heal()
        self.down.heal()
        self.ending = "reset"

    def cut(self, *, up: int | None = None, down: int | None = None) -> None:
        """Let the connections that are open now end when they have carried so many bytes more. Any thread."""
        for link in list(self._links):
            link.up.left, link.down.left = up, down

    async def sever(self) -> None:
        """Reset every connection that is open; the port stays open. For the proxy's own loop."""
        for link in list(self._links):
            link.sever()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            reset(writer)
            return
        link = _Link(
            Pipe(self.up, reader, inner_writer, self._random),
            Pipe(self.down, inner_reader, writer, self._random),
            writer,
            inner_writer,
        )
        self._links.add(link)
        try:
            await self._carry(link)
        finally:
            self._links.discard(link)
            inner_writer.transport.abort()

    async def _carry(self, link: _Link) -> None:
        running = {asyncio.ensure_future(pipe.run()): pipe for pipe in (link.up, link.down)}
        try:
            while running:
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                full = [pipe for task in done if (pipe := running.pop(task)) and task.result()]
                if full:
                    await self._end(link, full[0], running)
        except (OSError, asyncio.TimeoutError):
            link.sever()
        finally:
            await _cancel(running)

    async def _end(self, link: _Link, full: Pipe, running: dict[asyncio.Task[bool], Pipe]) -> None:
        """A direction has carried its limit."""
        if self.ending == "reset":
            reset(link.client)
            # the bytes that were carried are the server's: if it were reset too, it might lose those that it has not
            # read yet
            link.server.close()
            await _cancel(running)
        elif self.ending == "end":
            await _cancel(running)
            link.up.end()
            link.down.end()
            # closed with something unread, the kernel would send RST
            await asyncio.wait_for(_swallow(link), _GOODBYE)
        else:
            full.end()
            await full.swallow()


async def _swallow(link: _Link) -> None:
    # awaited here: of a gathering that is given up from outside the cancellation would not be looked at
    await asyncio.gather(link.up.swallow(), link.down.swallow())


async def _cancel(tasks: dict[asyncio.Task[bool], Pipe]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()
