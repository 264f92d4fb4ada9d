"""The steps of trio's tasks, for which trio calls instruments: ours is there as long as there are users."""

from __future__ import annotations

import math
import time
from contextlib import suppress

import trio

from ..inspection.garbage_time import garbage_time
from ..inspection.trio_inside import deadline_that_wakes
from .request_clock import RequestClock, request_clock
from .request_tasks import RequestTasks
from .trio_tasks import note_exited, note_spawned, note_step


class TrioSteps(trio.abc.Instrument):
    """Of one run.

    :ivar loop: there is none of asyncio's
    """

    loop = None

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._users = 0
        self._running: RequestClock | None = None
        self._began: float | None = None

    def is_here(self) -> bool:
        """Whether this is the run."""
        return trio.lowlevel.current_trio_token() is self._token

    def keep(self) -> None:
        """The run keeps it."""

    def let_go(self) -> None:
        """As `keep`."""

    def enter(self) -> None:
        """Begin to report, for one user more."""
        if not self._users:
            self._running = self._began = None
            trio.lowlevel.add_instrument(self)
            garbage_time.enter()
        self._users += 1

    def leave(self) -> None:
        """One user less. The last one removes the instrument from trio."""
        self._users -= 1
        if not self._users:
            garbage_time.leave()
            try:
                trio.lowlevel.remove_instrument(self)
            except KeyError:
                return  # trio has put it out
            except RuntimeError:
                # called in another thread; or the run is over, which is an error too
                with suppress(RuntimeError):
                    self._token.run_sync_soon(self._remove)

    def _remove(self) -> None:
        with suppress(KeyError):
            if not self._users:
                trio.lowlevel.remove_instrument(self)

    def follow_tasks(self) -> None:
        """Each step is reported whether tasks are listed or not."""

    def leave_tasks(self) -> None:
        """As `follow_tasks`."""

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """It is ready for a step."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            clock.wake(_due(task))

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """It will run."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.tasks is not None:
            note_spawned(task, clock.tasks)

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        """It has ended."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.tasks is not None:
            note_exited(task, clock.tasks)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """It runs."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            self._running = clock
            if clock.tasks is not None:
                self._began = trio.current_time()
            clock.begin_woken()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """It has run. A step in which its request began had no begin here."""
        running, self._running = self._running, None
        if running is not None:
            running.end()
        clock = task.context.get(request_clock)
        if clock is not None and clock.tasks is not None:
            began, self._began = self._began, None
            note_step(task, clock.tasks, began if began is not None else _since(clock.tasks))


_steps: trio.lowlevel.RunVar[TrioSteps] = trio.lowlevel.RunVar("swagent_steps")


def steps_of_run() -> TrioSteps:
    """Those of this run."""
    try:
        return _steps.get()
    except LookupError:
        steps = TrioSteps()
        _steps.set(steps)
        return steps


def _since(tasks: RequestTasks) -> float:
    """When a request began, by trio's clock."""
    return trio.current_time() - time.monotonic() + tasks.began


def _due(task: trio.lowlevel.Task) -> float | None:
    """Since when a task could run that a deadline wakes, which trio may be late to see: monotonic."""
    deadline = deadline_that_wakes(task)
    return time.monotonic() - trio.current_time() + deadline if deadline < math.inf else None
