"""An event loop as another thread sees it: the task that runs now, the tasks that could run, and their contexts.

No loop has a public way to ask that from outside. Reading here changes nothing. Where a version of
Python or trio keeps things elsewhere, nothing is seen, and nothing else happens.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from asyncio.base_events import BaseEventLoop
from collections.abc import Iterable, Iterator
from contextvars import Context
from importlib import import_module
from typing import Any, Protocol

from ..backend import LoopNotifier, loop_notifier
from . import asyncio_inside, trio_inside
from .frames import frame_of

Task = Any
_WAITER = asyncio_inside.WAITER_OF_TASK.name
_NO_WAITER: Any = object()
# Where asyncio and trio wait for their sockets: on epoll and select, on kqueue, and on Windows.
_WAITING = frozenset({"selectors.py", "windows_events.py", "_io_epoll.py", "_io_kqueue.py", "_io_windows.py"})


class LoopView(Protocol):
    """One loop, seen from any thread."""

    thread: int
    """The identity of the thread that it runs in."""
    notify: LoopNotifier

    def is_run(self) -> bool:
        """Whether the loop runs now: one that does not run is not held."""
        ...

    def is_idle(self) -> bool:
        """Whether it runs nothing now: it waits for its sockets and timers."""
        ...

    def running(self) -> Task | None:
        """The task that runs now, if the loop runs one."""
        ...

    def ready(self) -> Iterator[Task]:
        """The tasks that wait for nothing but the loop; the running one may be among them."""
        ...

    def tasks(self) -> Iterable[Task]:
        """All its tasks."""
        ...

    def is_ready(self, task: Task) -> bool:
        """Whether a task waits for nothing but the loop; the running one may be said to."""
        ...

    def steps(self) -> dict[Task, int]:
        """How many steps each task has made, where the loop counts them; else nothing."""
        ...


def view_of_this_loop() -> LoopView:
    """The running loop.

    :raises Exception: it cannot be seen into
    """
    # exported, and it does not raise as its public sister does
    return _AsyncioView() if asyncio._get_running_loop() is not None else _TrioView()  # noqa: SLF001


def context_of(task: Task) -> Context | None:
    """The context that a task runs in; None where it cannot be seen."""
    if hasattr(task, "get_context"):  # asyncio from Python 3.12 on
        found = task.get_context()
    else:
        # trio's tasks, and those of PyPy; what a C task of older Pythons refers to is found by the garbage collector
        found = getattr(task, "context", None) or getattr(task, "_context", None)
        if found is None:
            found = next((each for each in gc.get_referents(task) if isinstance(each, Context)), None)
    return found if isinstance(found, Context) else None


class _AsyncioView:
    """asyncio's, and uvloop's, which runs asyncio's tasks."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.notify = loop_notifier()
        self._loop = asyncio.get_running_loop()
        self._is_uvloop = not isinstance(self._loop, BaseEventLoop)

    def is_run(self) -> bool:
        return self._loop.is_running()

    def is_idle(self) -> bool:
        # uvloop waits in no Python function: there, what is no task counts as nothing
        return self.running() is None and (self._is_uvloop or _is_waiting(self.thread))

    def running(self) -> Task | None:
        return asyncio.current_task(self._loop)

    def ready(self) -> Iterator[Task]:
        return filter(self.is_ready, self.tasks())

    def tasks(self) -> Iterable[Task]:
        return asyncio.all_tasks(self._loop)

    def is_ready(self, task: Task) -> bool:
        waiter = getattr(task, _WAITER, _NO_WAITER)
        return waiter is None or (waiter is not _NO_WAITER and bool(waiter.done()))

    def steps(self) -> dict[Task, int]:
        return {}


class _TrioView:
    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.notify = loop_notifier()
        # thread-local: this is the dictionary of the loop's own thread, which other threads may read as well
        place: Any = getattr(import_module(trio_inside.MODULE), trio_inside.RUN_CONTEXT)
        self._run: dict[str, Any] = place.__dict__
        self._runner: Any = self._run["runner"]

    def is_run(self) -> bool:
        return self._run.get("runner") is self._runner

    def is_idle(self) -> bool:
        # a guest of another loop waits in a thread of its own
        return self.running() is None and (self._runner.is_guest or _is_waiting(self.thread))

    def running(self) -> Task | None:
        return self._run.get("task")

    def ready(self) -> Iterator[Task]:
        return filter(self.is_ready, self.tasks())

    def tasks(self) -> Iterable[Task]:
        return tuple(self._runner.tasks)

    def is_ready(self, task: Task) -> bool:
        return trio_inside.is_ready(task)

    def steps(self) -> dict[Task, int]:
        return {task: trio_inside.steps_of(task) for task in tuple(self._runner.tasks)}


def _is_waiting(thread: int) -> bool:
    """Whether a thread waits for sockets and timers, as the loops of asyncio and trio do."""
    frame = frame_of(thread)
    return frame is None or os.path.basename(frame.f_code.co_filename) in _WAITING
