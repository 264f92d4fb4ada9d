"""The one place that knows asyncio from trio."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import anyio
import sniffio

T = TypeVar("T")
LoopNotifier = Callable[[Callable[[], object]], None]


def loop_notifier() -> LoopNotifier:
    """The way into the running loop from any thread: it takes a function and lets the loop call it soon.

    Never waits and never raises. When the loop has ended, there is nobody left to wake.
    """
    enter: Callable[[Callable[[], object]], object]
    if sniffio.current_async_library() == "trio":
        import trio  # noqa: PLC0415, RUF100  (optional)

        enter = trio.lowlevel.current_trio_token().run_sync_soon
    else:
        enter = asyncio.get_running_loop().call_soon_threadsafe

    def notify(function: Callable[[], object]) -> None:
        try:
            enter(function)
        except RuntimeError:  # closed loop; trio's RunFinishedError is one too
            return

    return notify


def task_counter() -> Callable[[], int]:
    """A function that tells how many tasks live on the running loop; for that loop's thread only."""
    if sniffio.current_async_library() == "trio":
        import trio  # noqa: PLC0415, RUF100  (optional)

        return lambda: trio.lowlevel.current_statistics().tasks_living
    loop = asyncio.get_running_loop()
    return lambda: len(asyncio.all_tasks(loop))


def task_watch() -> Callable[[], bool]:
    """A function that tells whether this task has ended. On trio it is always false: there no task ends before the
    tasks that it has started."""
    task = asyncio.current_task() if sniffio.current_async_library() == "asyncio" else None
    return lambda: task is not None and task.done()


def cancelled_by_scope() -> bool:
    """Whether a cancel scope around us is cancelled."""
    return anyio.current_effective_deadline() == -math.inf


def native_cancellation() -> Callable[[], bool]:
    """A function that tells whether somebody has called `cancel()` on this asyncio task.

    This tells a real cancellation from a stray CancelledError, which a client library leaks when one of its own futures
    is cancelled. Python 3.10 does not count requests to cancel: there every such error is taken for a stray one.
    """
    task = asyncio.current_task() if sniffio.current_async_library() == "asyncio" else None
    cancelling: Callable[[], int] | None = getattr(task, "cancelling", None)
    return lambda: cancelling is not None and cancelling() > 0


def cancelled_natively() -> bool:
    """Whether somebody has called `cancel()` on this very asyncio task."""
    return native_cancellation()()


def must_propagate(error: BaseException) -> bool:
    """Whether an error, or one in a group, must get out of a task of ours: the process ends, or a cancel scope around
    us is cancelled. Everything else is a failure. So is a stray cancellation: trio's own kind, or asyncio's, which an
    asyncio library may raise on trio too."""
    members: Sequence[BaseException] | None = getattr(error, "exceptions", None)
    if members is not None:
        return any(must_propagate(member) for member in members)
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return True
    return isinstance(error, anyio.get_cancelled_exc_class()) and cancelled_by_scope()


class Runner(Protocol):
    """Awaits a coroutine function of a transport where it can run."""

    def __call__(self, function: Callable[..., Awaitable[T]], *args: Any) -> Awaitable[T]: ...
