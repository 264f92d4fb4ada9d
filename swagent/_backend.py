"""The one place that knows asyncio from trio."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar, cast

import anyio
import sniffio
from anyio import CancelScope

from .errors import ConfigError
from .runtime.transport_thread import open_thread

T = TypeVar("T")
Door = Callable[[Callable[[], object]], None]
# What a transport's call that was cancelled may take to end; a little more than transports allow themselves.
LETTING_GO = 0.25


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


def task_watch() -> Callable[[], bool]:
    """A function that tells whether this task has ended. Never on trio, where no task ends before those that it has
    begun."""
    task = asyncio.current_task() if sniffio.current_async_library() == "asyncio" else None
    return lambda: task is not None and task.done()


def cancelled_by_scope() -> bool:
    """Whether a cancel scope around us is cancelled."""
    return anyio.current_effective_deadline() == -math.inf


def native_cancellation() -> Callable[[], bool]:
    """A function that tells whether somebody has called `cancel()` on this asyncio task.

    So it is told apart from a stray CancelledError, which a client library leaks when one of its own futures is
    cancelled. Python 3.10 does not count requests; there such an error is taken for a stray one.
    """
    task = asyncio.current_task() if sniffio.current_async_library() == "asyncio" else None
    cancelling: Callable[[], int] | None = getattr(task, "cancelling", None)
    return lambda: cancelling is not None and cancelling() > 0


def cancelled_natively() -> bool:
    """Whether somebody has called `cancel()` on this very asyncio task."""
    return native_cancellation()()


def must_pass(error: BaseException) -> bool:
    """Whether an error, or one in a group, must get out of a task of ours: the process ends, or a cancel scope around
    us is cancelled. Everything else is a failure, a stray cancellation included: of trio's kind, or of asyncio's, which
    comes out of an asyncio library on trio too."""
    members: Sequence[BaseException] | None = getattr(error, "exceptions", None)
    if members is not None:
        return any(must_pass(member) for member in members)
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return True
    return isinstance(error, anyio.get_cancelled_exc_class()) and cancelled_by_scope()


class Runner(Protocol):
    """Awaits a coroutine function of a transport where it can run."""

    def __call__(self, function: Callable[..., Awaitable[T]], *args: Any) -> Awaitable[T]: ...


async def _run_here(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    return await function(*args)


async def _run_apart(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Await in a task of its own, for asyncio. Cancelled, we leave it behind if it does not end soon.

    Within, the cancellation is that of a scope, so what is shielded there has its time.
    """
    scope = CancelScope()

    async def call() -> T:
        with scope:
            return await function(*args)
        return cast("T", None)  # cancelled, so nobody waits for it

    task = asyncio.ensure_future(call())
    task.add_done_callback(_retrieve)
    try:
        await asyncio.wait({task})
    finally:
        if not task.done():
            scope.cancel()
            with CancelScope(shield=True):
                await asyncio.wait({task}, timeout=LETTING_GO)
    return task.result()


def _retrieve(task: asyncio.Future[Any]) -> None:
    """Look at the outcome of what may have been left behind, or asyncio reports it to the application."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def transport_home(
    runtimes: frozenset[str],
    on_problem: Callable[[Mapping[str, Any]], object] | None = None,
    prepare: Callable[[], object] | None = None,
) -> AsyncGenerator[Runner]:
    """Where a transport's coroutines run: right here, or, for an asyncio-only transport on trio, in an asyncio loop in
    a thread of its own.

    A call that does not end when it is cancelled is left behind. Only where a transport runs on trio by itself it
    cannot be: it is waited for.

    :param runtimes: what the transport supports by itself
    :param on_problem: called here with what that thread's loop would hand to its exception handler. A loop that is the
        application's own has the application's handler.
    :param prepare: called in that thread's context before anything else
    """
    library = sniffio.current_async_library()
    if library in runtimes:
        yield _run_apart if library == "asyncio" else _run_here
        return
    async with open_thread(loop_door(), LETTING_GO, on_problem, prepare) as thread:
        yield thread.run


def check_runtime(transport: str, runtimes: frozenset[str]) -> None:
    """Make sure that a transport can run on the loop that is running. An asyncio-only transport can on any.

    :raises ConfigError: when a transport that runs on trio alone is to run on asyncio
    """
    if "asyncio" not in runtimes and sniffio.current_async_library() not in runtimes:
        raise ConfigError("protocol", transport, "on asyncio a transport that runs there; this one runs on trio alone")
