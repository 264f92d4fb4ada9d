"""The one place that knows asyncio from trio."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import anyio
import sniffio

from .errors import ConfigError

T = TypeVar("T")
Door = Callable[[Callable[[], object]], None]


def loop_door() -> Door:
    """The way into the running loop from any thread: it takes a function and lets the loop call it soon.

    Never waits and never raises: when the loop has ended, nobody is left to be woken, which is no news to a producer.
    """
    enter: Callable[[Callable[[], object]], object]
    if sniffio.current_async_library() == "trio":
        import trio  # noqa: PLC0415, RUF100  (optional)

        enter = trio.lowlevel.current_trio_token().run_sync_soon
    else:
        enter = asyncio.get_running_loop().call_soon_threadsafe

    def door(function: Callable[[], object]) -> None:
        try:
            enter(function)
        except RuntimeError:  # closed loop; trio's RunFinishedError is one too
            return

    return door


def task_counter() -> Callable[[], int]:
    """A function that tells how many tasks live on the running loop; for that loop's thread only."""
    if sniffio.current_async_library() == "trio":
        import trio  # noqa: PLC0415, RUF100  (optional)

        return lambda: trio.lowlevel.current_statistics().tasks_living
    loop = asyncio.get_running_loop()
    return lambda: len(asyncio.all_tasks(loop))


def cancelled_by_scope() -> bool:
    """Whether a cancel scope around us is cancelled."""
    return anyio.current_effective_deadline() == -math.inf


def cancelled_natively() -> bool:
    """Whether somebody called `cancel()` on this very asyncio task.

    Told apart from a stray CancelledError, which a client library leaks when one of its own futures is cancelled.
    Python 3.10 does not count requests; there such an error is taken for a stray one.
    """
    if sniffio.current_async_library() != "asyncio":
        return False
    cancelling: Callable[[], int] | None = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is not None and cancelling() > 0


class Runner(Protocol):
    """Awaits a coroutine function of a transport where it can run."""

    def __call__(self, function: Callable[..., Awaitable[T]], *args: Any) -> Awaitable[T]: ...


async def _run_here(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    return await function(*args)


@asynccontextmanager
async def transport_home(runtimes: frozenset[str]) -> AsyncGenerator[Runner]:
    """Where a transport's coroutines run: right here, or, for an asyncio-only transport on trio, in an asyncio loop
    that trio_asyncio runs inside this thread's trio loop.

    :param runtimes: what the transport supports by itself
    """
    if sniffio.current_async_library() in runtimes:
        yield _run_here
        return
    # imported only here: importing it replaces the process's asyncio policy
    import trio_asyncio  # noqa: PLC0415, RUF100

    untyped: Any = trio_asyncio
    async with untyped.open_loop() as loop:

        async def run_in_asyncio(function: Callable[..., Awaitable[T]], *args: Any) -> T:
            async def call() -> T:
                return await function(*args)

            result: T = await loop.run_aio_coroutine(call())
            return result

        yield run_in_asyncio


def check_runtime(transport: str, runtimes: frozenset[str]) -> None:
    """Make sure that a transport can run on the loop that is running.

    :raises ConfigError: when an asyncio-only transport is to run on trio and trio_asyncio is not installed
    """
    if sniffio.current_async_library() in runtimes:
        return
    try:
        import trio_asyncio  # noqa: F401, PLC0415, RUF100  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise ConfigError(
            "protocol", transport, "on trio this transport needs trio_asyncio: pip install 'swagent[trio]'"
        ) from None
