"""An HTTP server in the collector's own loop: uvicorn, without its hold on the process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio
import uvicorn
from starlette.types import ASGIApp

from .http_protocol import BoundedProtocol
from .listening import accept_no_more

# Seconds for answers under way at the stop.
_GRACE = 1


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to the program, and is started and ended by events.

    `tests/collector/test_touched_libraries.py` names all that this touches of uvicorn.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.ending = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end; uvicorn's own loop looks for it ten times a second."""
        self.listening.set()
        while not self.ending.is_set():
            await self.on_tick(0)  # sets the Date header of the next second
            with anyio.move_on_after(1.0):
                await self.ending.wait()

    async def end(self) -> None:
        """Accept no more connections, and let `serve` end."""
        for each in self.servers:
            await accept_no_more(each)
        self.should_exit = True  # for connections under way
        self.ending.set()


class HttpServer:
    """Serves an application on one port. asyncio only."""

    def __init__(self, make_app: Callable[[], ASGIApp], host: str, port: int) -> None:
        """
        :param make_app: called at each start, in the loop that will serve: locks and limits belong to a loop
        :param port: 0 takes a free one, which later starts take again
        """
        self._make_app = make_app
        self.host = host
        self.port = port
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self._server is not None and bool(self._server.server_state.tasks)

    async def start(self) -> None:
        """Listen.

        :raises OSError: when the address cannot be bound
        """
        listener = await _bind(self.host, self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._make_app(),
            http=BoundedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        listening = asyncio.ensure_future(self._server.listening.wait())
        await asyncio.wait((self._task, listening), return_when=asyncio.FIRST_COMPLETED)
        if not listening.done():
            listening.cancel()
            await self._task

    async def stop(self) -> None:
        """Close the port, then the connections; takes a second at most. Twice is harmless."""
        server, task, self._server, self._task = self._server, self._task, None, None
        if server is not None and task is not None:
            await server.end()
            await asyncio.wait((task,))
            task.result()


async def _bind(host: str, port: int) -> socket.socket:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from error
    listener.setblocking(False)
    return listener
