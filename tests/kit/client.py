"""The gRPC transport as a test uses it: in its loop, on any backend, watched."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio

from swagent.backend import Runner
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal
from swagent_transports.grpc import GrpcTransport

REQUEST_TIMEOUT = 50.0
"""Of a test's client, in seconds: nothing waits for it, unless it is broken."""
AT_ONCE = 25.0
"""A call that takes no longer has not waited for a request's timeout, not even on a busy machine."""


class Sender:
    """A transport, and short words for what tests do with it.

    :ivar run: runs a function where the transport lives
    """

    RECORD = b"record"

    def __init__(self, transport: Any, run: Runner) -> None:
        self.transport = transport
        self.run = run

    async def send(self, *records: bytes, signal: Signal = Signal.SEGMENT) -> None:
        """Send one batch."""
        await self.run(self.transport.send, signal, records or (self.RECORD,))

    async def verdict(self, *records: bytes, signal: Signal = Signal.SEGMENT) -> DeliveryError | None:
        """Send one batch, and return the verdict on it: None for confirmed."""
        try:
            await self.send(*records, signal=signal)
        except DeliveryError as error:
            return error
        return None

    async def verdicts(self, count: int) -> list[DeliveryError | None]:
        """Send batches at the same time, numbered; their verdicts in the order in which they ended."""
        found: list[DeliveryError | None] = []

        async def one(number: int) -> None:
            found.append(await self.verdict(self.numbered(number)))

        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(one, number)
        return found

    def numbered(self, number: int) -> bytes:
        """A record that differs from others."""
        return b"record %d" % number


class Client(Sender):
    """One whose loop is watched.

    :ivar problems: what reached the loop's exception handler
    """

    def __init__(self, transport: Any, run: Runner) -> None:
        super().__init__(transport, run)
        self.problems: list[dict[str, Any]] = []
        self._known: set[asyncio.Task[Any]] = set()

    async def tasks(self) -> set[asyncio.Task[Any]]:
        """The asyncio tasks in the transport's loop that were not there at first."""

        async def look() -> set[asyncio.Task[Any]]:
            return {task for task in asyncio.all_tasks() - self._known if task is not asyncio.current_task()}

        return await self.run(look)

    async def watch_loop(self) -> Callable[[], None]:
        async def watch() -> Callable[[], None]:
            self._known = asyncio.all_tasks()
            loop = asyncio.get_running_loop()
            before = loop.get_exception_handler()
            loop.set_exception_handler(lambda _, context: self.problems.append(context))
            return lambda: loop.set_exception_handler(before)

        return await self.run(watch)


@asynccontextmanager
async def grpc_client(collector: str, **settings: Any) -> AsyncGenerator[Client]:
    """A transport to a collector. At the end it is closed, and nothing may have reached the application's handlers."""
    settings = {"request_timeout": REQUEST_TIMEOUT, **settings}
    config = Config(service="checked", collector=collector, **settings)
    async with transport_runner(GrpcTransport.runtimes) as run:
        client = Client(GrpcTransport(config, config.addresses[0]), run)
        unwatch = await client.watch_loop()
        try:
            with quiet_process():
                yield client
                await run(client.transport.aclose)
                # what a callback of the closed connection may still have to say
                await run(asyncio.sleep, 0.01)
                gc.collect(1)
        finally:
            with anyio.CancelScope(shield=True):
                await run(client.transport.aclose)
            unwatch()
        assert not client.problems, f"the application's exception handler heard of {client.problems}"


@contextmanager
def quiet_process() -> Iterator[None]:
    """Fail when something reaches the process's last resorts."""
    heard: list[Any] = []
    hooks = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = heard.append
    threading.excepthook = heard.append
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
    assert not heard, f"the process's hooks heard of {heard}"


def open_files() -> set[str]:
    """The open files of the process: sockets and the like. uvloop keeps /dev/null open as a reserve."""
    found = set()
    for entry in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the listing's own
            found.add(f"{entry} {os.readlink(f'/proc/self/fd/{entry}')}")
    return {each for each in found if not each.endswith("/dev/null")}


async def until(condition: Callable[[], object], timeout: float = 5.0) -> None:
    """Wait for what happens in another thread, or in none of our hands.

    :raises TimeoutError: when it does not happen
    """
    with anyio.fail_after(timeout):
        while not condition():  # noqa: ASYNC110  (no event of ours says it)
            await anyio.sleep(0.005)


async def wait_files_closed(before: set[str], timeout: float = 5.0) -> set[str]:
    """The files opened since, once there are none, or the time is up: the other side closes in its own time."""
    with suppress(TimeoutError):
        await until(lambda: not open_files() - before, timeout)
    return open_files() - before
