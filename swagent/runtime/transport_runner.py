"""Where the coroutines of transports run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import sniffio
from anyio import CancelScope

from .. import stop_budgets
from ..backend import Runner, loop_notifier
from ..errors import ConfigError
from .cancellation import stop_cancelling
from .transport_thread import open_thread

T = TypeVar("T")


async def _run_here(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    return await function(*args)


async def _run_apart(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Await in a task of its own, for asyncio. If we are cancelled and it does not end soon, it is left behind.

    Inside, the cancellation is that of a scope. So what is shielded there gets its time.
    """
    scope = CancelScope()

    async def call() -> T:
        with scope:
            return await function(*args)
        return cast("T", None)  # cancelled, so nothing waits for it

    task = asyncio.ensure_future(call())
    task.add_done_callback(_retrieve)
    try:
        await asyncio.wait({task})
    finally:
        if not task.done():
            scope.cancel()
            with CancelScope(shield=True):
                await asyncio.wait({task}, timeout=stop_budgets.CALL_END)
            stop_cancelling(scope)
    return task.result()


def _retrieve(task: asyncio.Future[Any]) -> None:
    """Look at the outcome of what may have been left behind, or asyncio reports it to the application."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def transport_runner(
    runtimes: frozenset[str],
    on_problem: Callable[[Mapping[str, Any]], object] | None = None,
    prepare: Callable[[], object] | None = None,
) -> AsyncGenerator[Runner]:
    """Where a transport's coroutines run: right here, or, for an asyncio-only transport on trio, in an asyncio loop in
    a thread of its own.

    A call that does not end when it is cancelled is left behind. On trio a transport that runs there by itself cannot
    be left behind: it is waited for.

    :param runtimes: what the transport supports by itself
    :param on_problem: called here with what that thread's loop would hand to its exception handler. A loop that is the
        application's own has the application's handler.
    :param prepare: called in that thread's context before anything else
    """
    library = sniffio.current_async_library()
    if library in runtimes:
        yield _run_apart if library == "asyncio" else _run_here
        return
    async with open_thread(loop_notifier(), stop_budgets.CALL_END, on_problem, prepare) as thread:
        yield thread.run


def check_runtime(transport: str, runtimes: frozenset[str]) -> None:
    """Make sure that a transport can run on the loop that is running. An asyncio-only transport can on any.

    :raises ConfigError: when a transport that runs on trio alone is to run on asyncio
    """
    if "asyncio" not in runtimes and sniffio.current_async_library() not in runtimes:
        raise ConfigError("protocol", transport, "on asyncio a transport that runs there; this one runs on trio alone")
