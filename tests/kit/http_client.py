"""The HTTP transport as a test uses it: on any backend, watched."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import sniffio

from kit.client import REQUEST_TIMEOUT, open_files, quiet_process
from swagent.config import Config
from swagent.errors import DeliveryError
from swagent.signals import Signal
from swagent_transports.http import HttpTransport

RECORD = b'{"traceId":"1"}'


class Client:
    """A transport, and short words for what tests do with it."""

    def __init__(self, transport: HttpTransport) -> None:
        self.transport = transport

    async def send(self, *records: bytes) -> None:
        """Send one batch of segments."""
        await self.transport.send(Signal.SEGMENT, records or (RECORD,))

    async def verdict(self, *records: bytes) -> DeliveryError | None:
        """Send one batch, and return the verdict on it: None for confirmed."""
        try:
            await self.send(*records)
        except DeliveryError as error:
            return error
        return None

    async def verdicts(self, count: int) -> list[DeliveryError | None]:
        """Send batches at the same time, numbered; their verdicts in the order in which they ended."""
        found: list[DeliveryError | None] = []

        async def one(number: int) -> None:
            found.append(await self.verdict(numbered(number)))

        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(one, number)
        return found


def numbered(number: int) -> bytes:
    """A record that differs from others."""
    return b'{"traceId":"%d"}' % number


@asynccontextmanager
async def http_client(collector: str, **settings: Any) -> AsyncGenerator[Client]:
    """A transport to a collector. At the end it is closed, has left neither a socket nor a task behind, and nothing
    may have reached the application's handlers."""
    config = Config(service="checked", collector=collector, **{"request_timeout": REQUEST_TIMEOUT, **settings})
    before, tasks = _sockets(), _tasks()
    client = Client(HttpTransport(config, config.addresses[0]))
    problems, unwatch = _watch_loop()
    try:
        with quiet_process():
            yield client
            await client.transport.aclose()
            gc.collect()
            await anyio.sleep(0.005)  # what a callback of a closed connection may still have to say
            await _check_sockets_closed(before)
            assert _tasks() <= tasks, "a closed transport leaves no task"
    finally:
        with anyio.CancelScope(shield=True):
            await client.transport.aclose()
        unwatch()
    assert not problems, f"the application's exception handler heard of {problems}"


def _watch_loop() -> tuple[list[Any], Callable[[], None]]:
    heard: list[Any] = []
    if sniffio.current_async_library() == "trio":
        return heard, lambda: None
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    return heard, lambda: loop.set_exception_handler(before)


async def _check_sockets_closed(before: set[str]) -> None:
    """The peer's own end may take a moment. Other files are the loop's (uvloop keeps one of /dev/null in reserve)."""
    with anyio.move_on_after(2.0):
        while _sockets() - before:  # noqa: ASYNC110
            await anyio.sleep(0.005)
    left = _sockets() - before
    assert not left, f"a closed transport holds no connection: {left}"


def _sockets() -> set[str]:
    return {each for each in open_files() if "socket:" in each}


def _tasks() -> set[int]:
    return {task.id for task in anyio.get_running_tasks()}
