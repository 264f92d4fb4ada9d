"""An asyncio event loop whose clock jumps: a wait of an hour takes no time, and a busy machine changes nothing.

Theory of operation. The clock is stopped while anything is ready. When the loop would sleep until its next timer, the
clock jumps to that timer instead. So timers fire in their order, at exactly their times, however slow the machine is;
trio's `MockClock` with `autojump_threshold=0` does the same. The clock begins at 0.

The rule about everything outside of the loop, whose time does not jump:

- *Work in threads that the loop can see* stops the clock: jobs of `run_in_executor`, and of anyio's `to_thread`. The
  loop waits for them in real time. They may call in by `call_soon_threadsafe`, and their timers start when they have
  called in.
- *Any other thread* may live, and must not call in: whether it does so before a jump is chance.
- *Sockets, pipes and child processes* are refused when the loop would watch one. An answer that is still on its way
  would come after the timeout that waits for it. Peers of such a test are objects in the same loop.
- *A loop that is always busy* lets no time pass. So is a loop in which a task swallows anyio's cancellation: anyio
  cancels it again in each round.
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
from typing import Any, TypeVar

from anyio._backends._asyncio import WorkerThread
from typing_extensions import TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self) -> None:
        self._now = 0.0
        self._jobs: set[Future[Any]] = set()
        self._pool: ThreadPoolExecutor | None = None
        selector = _Selector(self)
        super().__init__(selector)
        selector.is_open = False
        # timers at great times must not miss each other for the rounding of a float
        self._clock_resolution = 1e-6
        # the debug mode measures steps, and here none takes any time
        self.slow_callback_duration = math.inf

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Set the clock forward: to the next timer, or as a step does that holds the loop for so long."""
        self._now += seconds

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
            executor = self._pool = self._pool or ThreadPoolExecutor(4, thread_name_prefix="virtual-loop")
        job: Future[T] = executor.submit(func, *args)
        self._jobs.add(job)
        # in this order: until the loop has the outcome, the job counts, awaited or not
        outcome = asyncio.wrap_future(job, loop=self)
        job.add_done_callback(self._note_end)
        return outcome

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        # asyncio's own waits in a thread that the loop cannot see, and for seconds of the clock
        if self._pool is not None:
            await asyncio.gather(*map(asyncio.wrap_future, self._jobs), return_exceptions=True)
            self._pool.shutdown(wait=True)

    def _note_end(self, job: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed before the job's end
            self.call_soon_threadsafe(self._jobs.discard, job)


class _Selector(selectors.DefaultSelector):
    """Where a loop sleeps: here the clock jumps.

    :ivar is_open: false once the loop has its own pipe, by which threads and signals wake it
    """

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = weakref.ref(loop)
        self.is_open = True

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if not self.is_open:
            raise RuntimeError(f"a virtual clock cannot wait for the file or socket {fileobj!r}: use one in real time")
        return super().register(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        loop = self._loop()
        assert loop is not None
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        if timeout is None or loop.waits_for_threads():
            return super().select(None)
        loop.jump(timeout)
        return []
