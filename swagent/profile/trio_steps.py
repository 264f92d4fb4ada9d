"""The steps of trio's tasks, for which trio calls instruments. Each step costs more then, so ours is there only while
a request is timed."""

from __future__ import annotations

import math
import time
from contextlib import suppress

import trio

from ..inspection.garbage_time import garbage_time
from ..inspection.trio_inside import deadline_that_wakes
from .request_clock import RequestClock, request_clock
from .trio_tasks import note_exited, note_spawned, note_step


class TrioSteps(trio.abc.Instrument):
    """Of one run."""

    def __init__(self) -> None:
        self._users = 0
        self._running: RequestClock | None = None
        self._began: float | None = None

    def enter(self) -> None:
        """One clock more."""
        if not self._users:
            self._running = self._began = None
            trio.lowlevel.add_instrument(self)
            garbage_time.enter()
        self._users += 1

    def leave(self) -> None:
        """One clock less. The last one removes the agent's instrument from trio."""
        self._users -= 1
        if not self._users:
            garbage_time.leave()
            # the run is over, or trio has put it out
            with suppress(RuntimeError, KeyError):
                trio.lowlevel.remove_instrument(self)

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """It is ready for a step."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            clock.wake(_due(task))

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """It will run."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            note_spawned(task, clock.tasks)

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        """It has ended."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            note_exited(task, clock.tasks)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """It runs."""
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            self._running = clock
            self._began = trio.current_time()
            clock.begin_woken()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """It has run. A step in which its request began had no begin here."""
        running, self._running = self._running, None
        began, self._began = self._began, None
        if running is not None:
            running.end()
        clock = task.context.get(request_clock)
        if clock is not None and clock.steps is self:
            note_step(task, clock.tasks, began if began is not None else self._since(clock))

    def _since(self, clock: RequestClock) -> float:
        """When its request began, by trio's clock."""
        return trio.current_time() - time.monotonic() + clock.tasks.began


_steps: trio.lowlevel.RunVar[TrioSteps] = trio.lowlevel.RunVar("swagent_steps")


def steps_of_run() -> TrioSteps:
    """Those of this run."""
    try:
        return _steps.get()
    except LookupError:
        steps = TrioSteps()
        _steps.set(steps)
        return steps


def _due(task: trio.lowlevel.Task) -> float | None:
    """Since when a task could run that a deadline wakes, which trio may be late to see: monotonic."""
    deadline = deadline_that_wakes(task)
    return time.monotonic() - trio.current_time() + deadline if deadline < math.inf else None
