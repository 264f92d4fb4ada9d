"""A transport as a test uses it: in its loop, on any backend, watched."""

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
import sniffio

from kit.stopwatch import Stopwatch
from swagent.abc import addresses_of
from swagent.backend import Runner
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent.runtime.transport_runner import transport_runner
from swagent.signals import Signal

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
        self._known: set[int] = set()

    async def tasks(self) -> set[int]:
        """The tasks in the transport's loop that were not there at first."""

        async def look() -> set[int]:
            return {each.id for each in anyio.get_running_tasks()} - {anyio.get_current_task().id}

        return await self.run(look) - self._known

    async def watch_loop(self) -> Callable[[], None]:
        """Begin to watch; returns what ends it."""

        async def watch() -> Callable[[], None]:
            if sniffio.current_async_library() == "trio":
                return lambda: None
            loop = asyncio.get_running_loop()
            before = loop.get_exception_handler()
            loop.set_exception_handler(lambda _, context: self.problems.append(context))
            return lambda: loop.set_exception_handler(before)

        self._known = await self.tasks()
        return await self.run(watch)

    async def check_closed(self, files: set[str] | None) -> None:
        """Close at once, and leave neither tasks nor files behind; a cancelled task ends some turns of the loop later.

        :param files: those that were open before; None: no matter
        """
        watch = Stopwatch()
        with anyio.fail_after(10):
            await self.run(self.transport.aclose)
        assert watch.own_seconds < 0.5, "closing took its time"
        with anyio.move_on_after(5):
            while await self.tasks():  # noqa: ASYNC110  (no event of ours says it)
                await anyio.sleep(0.005)
        assert not await self.tasks(), "tasks are left"
        assert files is None or not await wait_files_closed(files), "files are left open"
        await anyio.sleep(0.005)  # what a callback of a closed connection may still have to say
        gc.collect(1)


@asynccontextmanager
async def watched(
    kind: Any, config: Config, make: Callable[[Any, Runner], Client] = Client, *, leaves_files: bool = False
) -> AsyncGenerator[Any]:
    """A transport to the first of its addresses. At the end it is closed at once, nothing may be left of it, and
    nothing may have reached the application's handlers.

    :param leaves_files: whether its peer may be one that does not see the end of a connection
    """
    async with transport_runner(kind.runtimes) as run:
        client = make(kind(config, addresses_of(kind, config)[0]), run)
        unwatch = await client.watch_loop()
        before = None if leaves_files else open_files()
        try:
            with quiet_process():
                yield client
                await client.check_closed(before)
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
