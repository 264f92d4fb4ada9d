"""The HTTP transport as a test uses it: on any backend, watched."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import sniffio

from kit.client import REQUEST_TIMEOUT, Sender, open_files, quiet_process
from swagent.config import Config
from swagent_transports.http import HttpTransport


class Client(Sender):
    """One in this very loop."""

    RECORD = b'{"traceId":"1"}'

    def numbered(self, number: int) -> bytes:
        return numbered(number)


async def _here(function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    return await function(*args)


def numbered(number: int) -> bytes:
    """A record that differs from others."""
    return b'{"traceId":"%d"}' % number


@asynccontextmanager
async def http_client(collector: str, **settings: Any) -> AsyncGenerator[Client]:
    """A transport to a collector. At the end it is closed, has left neither a socket nor a task behind, and nothing
    may have reached the application's handlers."""
    config = Config(service="checked", collector=collector, **{"request_timeout": REQUEST_TIMEOUT, **settings})
    before, tasks = _sockets(), _tasks()
    client = Client(HttpTransport(config, config.addresses[0]), _here)
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
