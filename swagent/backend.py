"""Functions of the running loop that the core needs and anyio does not have, the same for asyncio and trio.

The other modules of the core that name a loop have a reason of their own. `pyproject.toml` lists them with it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from typing import Any, Protocol, TypeVar

import anyio
import sniffio
from anyio import CancelScope

from .system_thread import SystemThread

T = TypeVar("T")
LoopNotifier = Callable[[Callable[[], object]], None]


def loop_notifier() -> LoopNotifier:
    """The way into the running loop from any thread: it takes a function and lets the loop call it soon.

    Never waits and never raises. A loop that has ended, or whose descriptors were closed, is not woken.
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
        except (RuntimeError, OSError):  # closed loop; trio's RunFinishedError is one too
            return

    return notify


async def call_in_thread(function: Callable[[], T], name: str) -> T:
    """Call a function in a thread that the process does not wait for. Cancelled, we leave it behind.

    asyncio waits at its end for its own threads, even if the call was cancelled.

    :raises RuntimeError: when the system has no thread to spare
    """
    ended, notify = anyio.Event(), loop_notifier()
    outcome: list[T] = []
    errors: list[Exception] = []

    def call() -> None:
        try:
            outcome.append(function())
        except Exception as error:  # noqa: BLE001, RUF100  (for the caller)
            errors.append(error)
        notify(ended.set)

    SystemThread(call, name).start()
    await ended.wait()
    if errors:
        raise errors.pop()
    return outcome[0]


def task_counter() -> Callable[[], int]:
    """A function that counts how many tasks live on the running loop; for that loop's thread only."""
    if sniffio.current_async_library() == "trio":
        import trio  # noqa: PLC0415, RUF100  (optional)

        return lambda: trio.lowlevel.current_statistics().tasks_living
    loop = asyncio.get_running_loop()
    return lambda: len(asyncio.all_tasks(loop))


def task_watch() -> Callable[[], bool]:
    """A function that says whether this task has ended. On trio it is always false: there no task ends before the
    tasks that it has started."""
    task = asyncio.current_task() if sniffio.current_async_library() == "asyncio" else None
    return lambda: task is not None and task.done()


def cancelled_by_scope() -> bool:
    """Whether a cancel scope around us is cancelled."""
    return anyio.current_effective_deadline() == -math.inf


def native_cancellation() -> Callable[[], bool]:
    """A function that says whether `cancel()` was called on this asyncio task.

    This separates a real cancellation from a stray CancelledError, which a client library leaks when one of its own
    futures is cancelled. Python 3.10 does not count requests to cancel: there every such error is taken for a stray
    one.
    """
    task = asyncio.current_task() if sniffio.current_async_library() == "asyncio" else None
    cancelling: Callable[[], int] | None = getattr(task, "cancelling", None)
    return lambda: cancelling is not None and cancelling() > 0


def cancelled_natively() -> bool:
    """Whether `cancel()` was called on this very asyncio task."""
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


class OwnTask(Protocol):
    """A task that belongs to none of the host's: any task of its loop may wait for its end."""

    def is_here(self) -> bool:
        """Whether its loop is the one that runs us."""
        ...

    def is_lost(self) -> bool:
        """Whether its loop was closed before it could end."""
        ...

    async def join(self) -> None:
        """Wait for its end, and put off every cancellation until then."""
        ...

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a function in a task beside it. Any thread; the function must not raise.

        :raises RuntimeError: when its loop has ended
        """
        ...


async def call_beside(task: OwnTask, function: Callable[[], Awaitable[T]]) -> T:
    """Await a function on the loop of a task, from another one. Cancelled, we leave it behind.

    :raises RuntimeError: when that loop has ended
    """
    ended, notify = anyio.Event(), loop_notifier()
    outcome: list[T] = []
    errors: list[BaseException] = []

    async def call() -> None:
        try:
            outcome.append(await function())
        except BaseException as error:  # noqa: BLE001, RUF100  (for the caller; it is no task of that loop's host)
            errors.append(error)
        finally:
            notify(ended.set)

    task.spawn(call)
    await ended.wait()
    if errors:
        raise RuntimeError("the call was ended from outside") from errors.pop()
    return outcome[0]


def own_task(live: Callable[[], Coroutine[Any, Any, None]], at_end: Callable[[], Awaitable[None]]) -> OwnTask:
    """Start a task in a context that has nothing of the application's.

    :param live: may outlive every task of the host's. At the end of its run asyncio cancels the task.
    :param at_end: what trio's end calls instead; it must let `live` end
    """
    if sniffio.current_async_library() == "trio":
        return _TrioTask(live, at_end)
    return _AsyncioTask(live)


class _AsyncioTask:
    # a loop holds its tasks weakly, and the application need not keep an agent that it has started
    _alive: set[asyncio.Task[None]] = set()  # noqa: RUF012

    def __init__(self, live: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._loop = asyncio.get_running_loop()
        context = Context()
        self._task = context.run(self._loop.create_task, live(), name="swagent")
        self._alive.add(self._task)
        self._task.add_done_callback(self._note_end, context=context)

    def is_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:  # trio's
            return False

    def is_lost(self) -> bool:
        is_lost = self._loop.is_closed() and not self._task.done()
        if is_lost:
            self._alive.discard(self._task)
        return is_lost

    async def join(self) -> None:
        cancellation: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                with CancelScope(shield=True):
                    await asyncio.wait({self._task})
            except asyncio.CancelledError as error:
                cancellation = error
        if cancellation is not None:
            raise cancellation

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._loop.call_soon_threadsafe(self._spawn, function)

    def _spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = Context().run(self._loop.create_task, function())
        self._alive.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._alive.discard(task)
        # looked at, or asyncio reports it; what ends the process has come out of the loop by itself
        _ = task.cancelled() or task.exception()


class _TrioTask:
    def __init__(self, live: Callable[[], Awaitable[None]], at_end: Callable[[], Awaitable[None]]) -> None:
        import trio  # noqa: PLC0415, RUF100  (optional)

        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._live = live
        self._at_end = at_end
        self._ended = trio.Event()
        self._is_over = False
        self._failure: BaseException | None = None
        trio.lowlevel.spawn_system_task(self._run, name="swagent")

    def is_here(self) -> bool:
        try:
            return self._trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:  # asyncio's
            return False

    def is_lost(self) -> bool:
        return False  # the end of its run has waited for it

    async def join(self) -> None:
        with CancelScope(shield=True):
            await self._ended.wait()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._token.run_sync_soon(self._trio.lowlevel.spawn_system_task, function)

    async def _run(self) -> None:
        try:
            async with self._trio.open_nursery() as nursery:
                nursery.start_soon(self._watch_end)
                try:
                    await self._live()
                finally:
                    self._is_over = True
                nursery.cancel_scope.cancel()
        except self._trio.Cancelled:
            raise
        except BaseException as error:  # noqa: BLE001, RUF100  (trio takes it for a fault of its own)
            self._failure = error
        finally:
            self._ended.set()

    async def _watch_end(self) -> None:
        """Wait outside of every shield of ours, where the end of the run arrives."""
        try:
            await self._trio.sleep_forever()
        except self._trio.Cancelled:
            if not self._is_over:
                with CancelScope(shield=True):
                    await self._at_end()
            raise
