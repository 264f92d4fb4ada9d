"""Every suspension of some tasks, counted, and something done at one of them.

    steps = Steps(17, cancel_the_host)
    with steps.watched():
        ...                       # what is started in here is watched, and what that starts
    assert steps.count >= 17 and steps.acted

A suspension is the moment in which a task gives the loop back. asyncio hands each new task to a factory, which puts a
coroutine around the task's own that sees every one of its yields. trio calls an instrument after each step of a task;
there the asyncio tasks in the thread of the transports are watched, too. While something is done at one of these, the
thread is held.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import sniffio
import trio

from swagent.runtime import thread_loop

Act = Callable[["Suspension"], None]
# The function that anyio puts around the function of a task on asyncio.
_ANYIOS = "TaskHandle._run_coro"


class Suspension:
    """One moment in which a task waits.

    :ivar is_host: whether it is the application's own task that waits
    """

    def __init__(self, steps: Steps, task: Any, coroutine: Any) -> None:
        self.steps = steps
        self.task = task
        self.is_host = task is steps.host
        self.thrown: BaseException | None = None
        self._coroutine = coroutine

    @property
    def stack(self) -> list[str]:
        """The coroutines that wait, the task's own first."""
        coroutines, _ = self._unfold()
        return [each.__qualname__ for each in coroutines]

    @property
    def can_fail(self) -> bool:
        """Whether an error could come out of what a task of the agent or of its transports waits for.

        It could not where a task only lets others run, nor out of what libraries need to run tasks and loops at all:
        anyio's locks and task groups, uvloop's own coroutines, which an error makes crash, and the sleep in which the
        agent hears of the end of trio's run.
        """
        coroutines, awaited = self._unfold()
        first = coroutines[1] if coroutines[0].__qualname__ == _ANYIOS and coroutines[1:] else coroutines[0]
        if "/swagent" not in first.cr_code.co_filename:
            return False  # a library's own task
        if isinstance(self.task, asyncio.Task):
            is_anyios = self.stack[-1] in ("TaskGroup.__aexit__", "Lock.acquire")
            return type(awaited).__name__ == "FutureIter" and not is_anyios
        return self.task._abort_func is not None and "_TrioTask._watch_end" not in self.stack

    def _unfold(self) -> tuple[list[Any], Any]:
        """The coroutines, and what the last of them awaits."""
        coroutines: list[Any] = []
        inner = self._coroutine
        while hasattr(inner, "cr_code"):
            coroutines.append(inner)
            inner = inner.cr_await
        return coroutines, inner

    def forget(self) -> None:
        """Let go of the task."""
        self.task = self._coroutine = None

    def throw(self, error: BaseException) -> None:
        """Let what the task waits for fail."""
        if isinstance(self.task, asyncio.Task):
            self.thrown = error
        else:
            # as trio delivers a cancellation, so that what the task waits in forgets about it
            self.task._attempt_abort(lambda: _raise(error))

    def __repr__(self) -> str:
        return f"suspension {self.steps.count} in {' > '.join(self.stack)}"


class Steps:
    """
    :ivar host: the application's own task
    :ivar count: how many suspensions there were
    :ivar acted: the one at which something was done
    :ivar place: where that was
    :cvar latest: those made last
    """

    latest: ClassVar[Steps]

    def __init__(self, at: int = 0, act: Act | None = None, which: Callable[[Suspension], bool] | None = None) -> None:
        """
        :param at: the number of the suspension, from 1; 0: none
        :param which: those that count; by default all
        """
        self.at = at
        self.act = act
        self.which = which or (lambda _: True)
        self.host: Any = None
        self.count = 0
        self.acted: Suspension | None = None
        self.place = "nowhere"
        self._lock = threading.Lock()
        self._trio: Any = None
        Steps.latest = self

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch every task that is started meanwhile."""
        if sniffio.current_async_library() == "trio":
            self._trio = trio.lowlevel.current_trio_token()
            instrument = _Instrument(self)
            trio.lowlevel.add_instrument(instrument)
            try:
                with self._thread_watched():
                    yield
            finally:
                trio.lowlevel.remove_instrument(instrument)
            return
        loop = asyncio.get_running_loop()
        factory = loop.get_task_factory()
        loop.set_task_factory(self.make_task)
        try:
            yield
        finally:
            loop.set_task_factory(factory)

    @contextmanager
    def _thread_watched(self) -> Iterator[None]:
        """Watch the asyncio tasks, too, in the thread of the transports."""
        new_loop = thread_loop.new_loop

        def watched_loop(uvloop: bool | None = None) -> asyncio.AbstractEventLoop:
            loop = new_loop(uvloop)
            loop.set_task_factory(self.make_task)
            return loop

        thread_loop.new_loop = watched_loop
        try:
            yield
        finally:
            thread_loop.new_loop = new_loop

    def make_task(self, loop: Any, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        """A task factory of asyncio's."""
        return asyncio.Task(_Stepwise(coroutine, self), loop=loop, **options)

    def suspended(self, task: Any, coroutine: Any) -> BaseException | None:
        """Count a suspension; returns what is to be thrown into the task instead."""
        suspension = Suspension(self, task, coroutine)
        if not self.which(suspension):
            return None
        with self._lock:
            self.count += 1
            is_met = self.count == self.at
        if is_met and self.act is not None:
            self.acted = suspension
            self.place = repr(suspension)
            if self._trio is not None and isinstance(task, asyncio.Task):
                trio.from_thread.run_sync(self.act, suspension, trio_token=self._trio)
            else:
                self.act(suspension)
        return suspension.thrown

    def forget(self) -> None:
        """Let go of the tasks, and of all that hangs on them."""
        self.host = None
        if self.acted is not None:
            self.acted.forget()


class _Stepwise(Coroutine[Any, Any, Any]):
    """A coroutine that reports every yield of another one, and looks like it in all else."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], steps: Steps) -> None:
        self._coroutine = coroutine
        self._steps = steps

    def send(self, value: Any) -> Any:
        return self._note(self._coroutine.send(value))

    def throw(self, *error: Any) -> Any:
        return self._note(self._coroutine.throw(*error))

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise NotImplementedError("only a task runs it")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)

    def _note(self, awaited: Any) -> Any:
        while (error := self._steps.suspended(asyncio.current_task(), self._coroutine)) is not None:
            if getattr(awaited, "_asyncio_future_blocking", None):
                awaited._asyncio_future_blocking = False  # it is not awaited after all
            awaited = self._coroutine.throw(error)
        return awaited


class _Instrument(trio.abc.Instrument):
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._tasks: set[Any] = set()

    def task_spawned(self, task: Any) -> None:
        self._tasks.add(task)

    def task_exited(self, task: Any) -> None:
        self._tasks.discard(task)

    def after_task_step(self, task: Any) -> None:
        if task in self._tasks:
            self._steps.suspended(task, task.coro)


def _raise(error: BaseException) -> NoReturn:
    raise error
