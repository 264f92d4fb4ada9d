"""A thread with an asyncio loop, for transports that know only asyncio while the agent runs elsewhere.

Theory of operation
-------------------
There are two loops: the host's, in which the agent's tasks run, and the thread's, in which the transports' coroutines
run. Each of them calls functions in the other: `call_soon_threadsafe` leads into the thread, `notify_host` leads back.
A function changes only the state of the loop that calls it. So there is no lock.

A call is a coroutine function. In the thread it runs in a task of its own, in a cancel scope; the host's task waits for
an event. When the host's task is cancelled, it cancels that scope, and waits a moment for the call to end. A call that
goes on then is left behind: nothing looks at its outcome, and no log line mentions it.

A problem of the thread's loop is logged in the host's loop, like everything else of the agent.

At the end the thread ends its loop by itself (`thread_loop`). The host waits for the thread, but not for long: one that
is held in a blocking call stays behind, and ends when that call does. It is a daemon.

The child of a fork does not have this thread, but its loop shares the selector with the parent's. So in a child nothing
here is touched or waited for.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from contextvars import Context
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
from anyio import CancelScope

from ..errors import AmbiguousError, RetryableError
from ..system_thread import SystemThread
from .cancellation import stop_cancelling
from .fork_rest import resting_at_forks
from .thread_loop import ThreadLoop

T = TypeVar("T")
NotifyHost = Callable[[Callable[[], object]], object]
OnProblem = Callable[[Mapping[str, Any]], object]

THREAD_NAME = "swagent-transports"
# Seconds for which the host waits for the thread's end, which takes a few milliseconds.
_ENDING = 0.5
# Seconds between two tries while the system has no descriptor or no thread to spare.
_PERIOD = 1.0
# Twice as many descriptors are more than any loop takes to be made.
_PIPES = 6
# Signals that a thread's own fault raises. If they were blocked, the process would end without faulthandler's report.
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS")


@asynccontextmanager
async def open_thread(
    notify_host: NotifyHost,
    letting_go: float,
    on_problem: OnProblem | None = None,
    prepare: Callable[[], object] | None = None,
) -> AsyncGenerator[TransportThread]:
    """A thread for as long as the block lasts. Waits until the system has what a thread and a loop need.

    :param notify_host: lets the host's loop call a function soon; called from any thread
    :param letting_go: seconds that a cancelled call may take to end
    :param on_problem: called in the host's loop with what the thread's loop has to report; may not raise, since trio
        does not survive that. Without it, asyncio logs problems, and what the system does not have is raised.
    :param prepare: called once, in the context in which everything in the thread runs
    """
    thread = TransportThread(notify_host, letting_go, on_problem, prepare)
    while True:
        try:
            thread.start()
            break
        except (OSError, RuntimeError) as error:
            if on_problem is None:
                raise
            on_problem({"message": "no thread for the transports, for now", "exception": error})
            await anyio.sleep(_PERIOD)
    try:
        yield thread
    finally:
        await thread.end()


class TransportThread:
    """The host's end of it, for the host's loop only."""

    def __init__(
        self,
        notify_host: NotifyHost,
        letting_go: float,
        on_problem: OnProblem | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        """As `open_thread`."""
        self._notify_host = notify_host
        self._letting_go = letting_go
        self._on_problem = on_problem
        # none of the application's
        self._context = Context()
        if prepare is not None:
            self._context.run(prepare)
        self._process = os.getpid()
        self._calls: set[_Call[Any]] = set()
        self._is_over = False
        self._ended = anyio.Event()
        self._inner: ThreadLoop
        self._thread: SystemThread

    def start(self) -> None:
        """Make the loop and start the thread.

        :raises OSError: when there is no descriptor to spare
        :raises RuntimeError: when there is no thread to spare
        """
        _check_descriptors()
        self._inner = ThreadLoop(None if self._on_problem is None else partial(self._report, self._on_problem))
        live = partial(self._context.copy().run, self._live)
        self._thread = SystemThread(live, THREAD_NAME)
        try:
            self._thread.start()
        except BaseException:
            self._inner.loop.close()
            raise

    async def run(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Await a coroutine function in the thread. Cancelled, we leave it behind if it does not end soon.

        :raises RetryableError: when the thread had ended before
        :raises AmbiguousError: when the thread ends meanwhile
        """
        if os.getpid() == self._process:
            # the thread may be faster than the news of a cancellation that is there already
            await anyio.lowlevel.checkpoint_if_cancelled()
        call = _Call(partial(function, *args), self._notify_host)
        self._calls.add(call)
        try:
            if self._post(call.begin):
                await call.ended.wait()
        finally:
            if not call.ended.is_set() and self._post(call.cancel):
                with anyio.move_on_after(self._letting_go, shield=True):
                    await call.ended.wait()
                self._post(partial(call.leave_behind, self._inner))
            self._calls.discard(call)
        return call.take()

    async def end(self) -> None:
        """Let the thread end, and wait for that, if it can."""
        for call in self._calls:
            self._post(call.cancel)
        has_thread = self._post(self._inner.stop)
        self._is_over = True
        if not has_thread:
            return
        with anyio.move_on_after(_ENDING, shield=True):
            await self._ended.wait()
            while self._thread.is_alive():  # noqa: ASYNC110  (it has said its last word, and is gone in no time)
                await anyio.sleep(0.001)

    def _post(self, function: Callable[[], object]) -> bool:
        """Let the thread call a function; returns whether there is a thread to do so."""
        if self._is_over or os.getpid() != self._process:
            return False
        try:
            self._inner.loop.call_soon_threadsafe(function, context=self._context)
        except RuntimeError:  # the loop was closed just now
            return False
        return True

    def _live(self) -> None:
        """The thread."""
        try:
            _block_signals()
            with resting_at_forks(self._post):
                self._inner.run()
        finally:
            self._notify_host(self._note_end)

    def _report(self, on_problem: OnProblem, problem: Mapping[str, Any]) -> None:
        self._notify_host(partial(on_problem, problem))

    def _note_end(self) -> None:
        self._is_over = True
        self._ended.set()
        for call in self._calls:
            call.ended.set()


class _Call(Generic[T]):
    """One call.

    :ivar ended: the host's; set when there is an outcome, or will be none
    """

    def __init__(self, function: Callable[[], Awaitable[T]], notify_host: NotifyHost) -> None:
        self._function = function
        self._notify_host = notify_host
        self._scope: CancelScope | None = None
        self._is_cancelled = False
        self._task: asyncio.Task[None] | None = None
        self._value: T
        self._error: BaseException | None = RetryableError("the thread of the transports has ended")
        self.ended = anyio.Event()

    # -- in the thread ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._error = AmbiguousError("cut off by the end of the transports' thread")
        self._task = asyncio.get_running_loop().create_task(self._run())

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    def leave_behind(self, inner: ThreadLoop) -> None:
        if self._task is not None and not self._task.done():
            inner.leave_behind(self._task)
            if self._scope is not None:
                stop_cancelling(self._scope)

    async def _run(self) -> None:
        try:
            if not self._is_cancelled:
                with CancelScope() as self._scope:
                    self._value = await self._function()
                    self._error = None
        except BaseException as error:  # noqa: BLE001, RUF100  (for the host, the end of the process too)
            if not (self._is_cancelled and isinstance(error, asyncio.CancelledError)):
                self._error = error
        finally:
            self._notify_host(self.ended.set)

    # -- in the host's loop -------------------------------------------------------------------------------------------

    def take(self) -> T:
        """The outcome. It can be taken once only: an error refers to the frames that it passed, and these refer to this
        call."""
        error, self._error = self._error, None
        if error is None:
            return self._value
        try:
            raise error
        finally:
            del error


def _check_descriptors() -> None:
    """Make sure that there are some to spare: a loop that is half made leaves errors behind.

    :raises OSError: when there are not
    """
    with ExitStack() as stack:
        for _ in range(_PIPES):
            for end in os.pipe():
                stack.callback(os.close, end)


def _block_signals() -> None:
    """Leave signals to the application's threads."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        faults = {getattr(signal, name) for name in _FAULTS if hasattr(signal, name)}
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
