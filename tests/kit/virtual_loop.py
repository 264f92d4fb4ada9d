"""An asyncio event loop whose clock jumps: a wait of an hour takes no time, and a busy machine changes nothing.

Theory of operation. The clock is stopped while anything is ready. When the loop would sleep until its next timer, the
clock jumps to that timer instead. So timers fire in their order, at exactly their times, however slow the machine is;
trio's `MockClock` with `autojump_threshold=0` does the same. The clock begins at 0.

The rule about everything outside of the loop, whose time does not jump:

- *Work in threads that the loop can see* stops the clock: jobs of `run_in_executor`, and of anyio's `to_thread`. The
  loop waits for them in real time. They may call in by `call_soon_threadsafe`, and their timers start when they have
  called in.
- *Any other thread* that was started while the loop lives is refused, when the clock would jump while it lives. Whether
  it would have called in before the jump is chance. A thread that the test starts and joins between two waits does no
  harm. A thread that is older than the loop must not call in.
- *Sockets, pipes and child processes* are refused before they are opened, or when the loop would watch one. An answer
  that is still on its way would come after the timeout that waits for it. Peers of such a test are objects in the same
  loop.
- *A loop that is always busy* lets no time pass. So is a loop in which a task swallows anyio's cancellation: anyio
  cancels it again in each round.
- *No timer, and nothing that could call in*: such a loop would wait for ever, and this is an error at once.

A refusal is a :exc:`VirtualTimeError`, raised out of the loop's run. Code under test that catches every error cannot
hide it. The test has failed then; for its cleanup each jump takes some real time, in which others can get on.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar

from anyio._backends._asyncio import WorkerThread
from typing_extensions import TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_ADVICE = "Such a test needs a loop in real time."
_CLEANUP_STEP = 0.01
_OPENING = (
    "add_reader", "add_writer", "connect_accepted_socket", "connect_read_pipe", "connect_write_pipe",
    "create_connection", "create_datagram_endpoint", "create_server", "create_unix_connection", "create_unix_server",
    "sock_accept", "sock_connect", "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall",
    "sock_sendfile", "sock_sendto", "subprocess_exec", "subprocess_shell",
)  # fmt: skip


class VirtualTimeError(RuntimeError):
    """A test on a virtual clock uses what has a time of its own."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module.

    :ivar jumps: how often the clock has jumped to a timer
    """

    def __init__(self) -> None:
        self.jumps = 0
        self._now = 0.0
        self._selects = _Selector(self)
        self._older = weakref.WeakSet(threading.enumerate())
        self._jobs: set[Future[Any]] = set()
        self._pools: weakref.WeakSet[Executor] = weakref.WeakSet()
        self._own_pool: ThreadPoolExecutor | None = None
        super().__init__(self._selects)
        self._selects.is_open = False
        # timers at great times must not miss each other for the rounding of a float
        self._clock_resolution = 1e-6
        # the debug mode measures steps, and here none takes any time
        self.slow_callback_duration = math.inf

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Set the clock forward, as a step does that holds the loop for so long."""
        if seconds < 0:
            raise ValueError("the clock cannot run backwards")
        self._now += seconds

    def refuse(self, reason: str) -> VirtualTimeError:
        """An error for the caller to raise. The loop's run raises it too, where code under test catches it."""
        return self._selects.note_refusal(VirtualTimeError(reason))

    def jump_to_next_timer(self, seconds: float) -> None:
        self.jumps += 1
        self._now += seconds

    def check_what_wakes_it(self, seconds: float | None) -> None:
        """Refuse a jump while a thread of the test's lives, and a wait that nothing ends.

        :param seconds: until the next timer, where there is one
        """
        names = ", ".join(sorted(thread.name for thread in self._strangers()))
        if seconds is None and not names:
            waiting = "\n".join(sorted(map(repr, asyncio.all_tasks(self))))
            self.refuse(f"every task waits, there is no timer, and no thread works: this never ends\n{waiting}")
        elif seconds is not None and names:
            self.refuse(
                f"the clock would jump by {seconds:g} s while these threads live: {names}. Use run_in_executor or"
                f" anyio's to_thread, which the loop can see, or join the thread before the next wait. {_ADVICE}"
            )

    def waits_for_threads(self) -> bool:
        """Whether a thread works that the loop has set to work. It calls in when it has ended."""
        return bool(self._jobs) or any(
            thread.loop is self and thread not in thread.idle_workers and not thread.stopping
            for thread in threading.enumerate()
            if isinstance(thread, WorkerThread)
        )

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: Unpack[Ts]
    ) -> asyncio.Future[T]:
        if executor is None:
            executor = self._default_pool()
        self._pools.add(executor)
        job: Future[T] = executor.submit(func, *args)
        self._jobs.add(job)
        # in this order: until the loop has the outcome, the job counts
        outcome = asyncio.wrap_future(job, loop=self)
        job.add_done_callback(self._note_end)
        return outcome

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        # asyncio's own waits in a thread that the loop cannot see, and for seconds of the clock
        if self._own_pool is not None:
            await asyncio.gather(*map(asyncio.wrap_future, self._jobs), return_exceptions=True)
            self._own_pool.shutdown(wait=True)

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Context | None = None
    ) -> asyncio.Handle:
        caller = threading.current_thread()
        if self.is_running() and caller.ident != self._running_in() and caller in self._older:
            error = self.refuse(f"the thread {caller.name!r} is older than the loop and has called in. {_ADVICE}")
            super().call_soon_threadsafe(_nothing)
            raise error
        return super().call_soon_threadsafe(callback, *args, context=context)

    def _running_in(self) -> int | None:
        return self._thread_id  # type: ignore[attr-defined, no-any-return]

    def _default_pool(self) -> Executor:
        if self._own_pool is None:
            self._own_pool = ThreadPoolExecutor(4, thread_name_prefix="virtual-loop")
        return self._own_pool

    def _note_end(self, job: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed before the job's end
            self.call_soon_threadsafe(self._jobs.discard, job)

    def _strangers(self) -> list[threading.Thread]:
        """The threads of the test's, beside those that only work when the loop has set them to work."""
        workers = {thread for pool in self._pools for thread in getattr(pool, "_threads", ())}
        return [
            thread
            for thread in threading.enumerate()
            if thread not in self._older
            and thread not in workers
            and thread.ident != self._running_in()
            and not (isinstance(thread, WorkerThread) and thread.loop is self)
        ]


class _Selector(selectors.DefaultSelector):
    """Where a loop sleeps: here the clock jumps.

    :ivar is_open: false once the loop has its own pipe, by which threads and signals wake it
    """

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = weakref.ref(loop)
        self.is_open = True
        self._refusal: VirtualTimeError | None = None
        self._has_refused = False

    def note_refusal(self, error: VirtualTimeError) -> VirtualTimeError:
        """Raise it as soon as the loop gets here, the first one alone."""
        if not self._has_refused:
            self._refusal = error
        return error

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if not self.is_open:
            error = VirtualTimeError(f"a virtual clock cannot wait for the file or socket {fileobj!r}. {_ADVICE}")
            raise self.note_refusal(error)
        return super().register(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        loop = self._loop()
        assert loop is not None
        self._raise_refusal()
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        if loop.waits_for_threads():
            return super().select(None)
        if not self._has_refused:
            loop.check_what_wakes_it(timeout)
            self._raise_refusal()
        elif timeout is not None and (found := super().select(min(timeout, _CLEANUP_STEP))):
            return found
        if timeout is None:
            return super().select(None)
        loop.jump_to_next_timer(timeout)
        return []

    def _raise_refusal(self) -> None:
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            self._has_refused = True
            raise refusal


def _nothing() -> None:
    """Wakes the loop."""


def _refused(name: str) -> Callable[..., Any]:
    def refuse(loop: VirtualLoop, *_: object, **__: object) -> Any:
        raise loop.refuse(f"{name}: a virtual clock cannot wait for sockets, pipes and child processes. {_ADVICE}")

    return refuse


for _name in _OPENING:
    setattr(VirtualLoop, _name, _refused(_name))
