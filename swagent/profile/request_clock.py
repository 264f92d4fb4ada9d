"""Where the time of one request goes: it runs, it is ready and waits for the loop, or it awaits something.

A request is all the tasks that run in its context: its own, and those that they have begun. At each instant it runs if
one of them does; else it is ready if one of them is; else it awaits. So the three sum to its time, whatever the number
of its tasks.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import Protocol

from ..inspection.garbage_time import garbage_time
from .awaited import NO_TIMES, AwaitedTimes
from .request_tasks import NO_TASKS, RequestTasks


class Steps(Protocol):
    """Reports the steps of the tasks of one loop to their clocks, while there are clocks."""

    def enter(self) -> None:
        """One clock more."""
        ...

    def leave(self) -> None:
        """One clock less."""
        ...


class RequestClock:
    """The clock of one request. It holds nothing of the request once it has stopped: contexts outlive their requests.

    :ivar steps: reports the steps of its tasks; None: it has stopped
    :ivar tasks: the request's
    """

    __slots__ = ("_awaited", "_awaiting", "_collected", "_collected_before", "_depth", "_last", "_ready", "_running",
                 "_stopped_tags", "_woken", "steps", "tasks")  # fmt: skip

    def __init__(self, steps: Steps, tasks: RequestTasks) -> None:
        """Begins to count."""
        self.steps: Steps | None = steps
        self.tasks = tasks
        self._awaited = AwaitedTimes()
        self._running = self._ready = self._awaiting = self._collected = self._collected_before = 0.0
        self._woken = self._depth = 0
        self._stopped_tags: tuple[tuple[str, str], ...] = ()
        self._last = time.monotonic()

    def wake(self, since: float | None = None) -> None:
        """One of its tasks is ready for a step.

        :param since: the monotonic time from which it could have been, where the loop was late to see it
        """
        now = time.monotonic()
        if since is not None and since < now and not self._depth and not self._woken:
            self._count(max(since, self._last))
            self._woken += 1
            self._count(now)
            return
        self._count(now)
        self._woken += 1

    def begin_woken(self) -> None:
        """A step begins of a task that was ready."""
        self.begin()
        self._woken -= 1

    def begin(self) -> None:
        """A step begins; it may be inside of another one."""
        self._count(time.monotonic())
        if not self._depth:
            self._collected_before = garbage_time.spent
        self._depth += 1

    def end(self) -> None:
        """The step ends."""
        self._count(time.monotonic())
        self._depth -= 1
        if not self._depth:
            self._collected += garbage_time.spent - self._collected_before

    def _count(self, now: float) -> None:
        passed = now - self._last
        self._last = now
        if self._depth:
            self._running += passed
        elif self._woken:
            self._ready += passed
        else:
            self._awaiting += passed
            if self.steps is not None:
                # the tasks are still where they waited
                self._awaited.add(passed, self.tasks)

    def stop(self) -> None:
        """Count no longer. A second stop does nothing."""
        if self.steps is not None:
            self._count(time.monotonic())
            self.steps = None
            if self._depth:
                self._collected += garbage_time.spent - self._collected_before
            self._stopped_tags = self._tags()
            self.tasks, self._awaited = NO_TASKS, NO_TIMES

    def tags(self) -> tuple[tuple[str, str], ...]:
        """Stop, and give the times in milliseconds, and the tasks."""
        self.stop()
        return self._stopped_tags

    def _tags(self) -> tuple[tuple[str, str], ...]:
        times = [("time.running", self._running), ("time.ready", self._ready), ("time.awaiting", self._awaiting)]
        if garbage_time.is_known:
            times.append(("time.gc", self._collected))
        texts = tuple((key, str(round(seconds * 1000))) for key, seconds in times)
        return (*texts, *self._awaited.tags(), *self.tasks.tags())


request_clock: ContextVar[RequestClock | None] = ContextVar("swagent_request_clock", default=None)
"""Tasks inherit it from those that begin them."""
