"""The light clock: three numbers, and one of them grows at each instant. It is what every request carries.

Theory of operation
-------------------
A request is all the tasks that run in its context: its own, and those that they have begun. At each instant it

    runs     if a step of one of its tasks is under way: `depth` is not 0
    is ready if none is, and a task was woken and has not begun its step: `woken` is not 0
    awaits   otherwise

So the three sum to the request's time, whatever the number of its tasks. The clock is moved by four events, and each
of them first adds the time since the last event to the state in which the request was:

    wake     a task becomes ready. Where the loop was late to see it, the caller says since when it was: the time from
             then on was not awaited
    begin    a step begins, perhaps inside of another one; `begin_woken`, if its task was woken before
    end      it ends
    stop     the request is over. From then on nothing counts

A clock begins within a step, because a request does. Most requests are over before that step is: as long as nothing
else happens, the clock is no more than its begin. The first event opens it, which gives it its numbers.

The garbage collector's time is taken at the outermost begin and end, so it is a part of the running time.

A wait of a millisecond and more is worth a name. `note_wait` is called at its end, while the tasks are still where they
waited. A subclass knows where that is.
"""

from __future__ import annotations

from math import floor
from time import monotonic
from typing import Any

from ..inspection.garbage_time import garbage_time
from ..request.split_times import SPLIT_TIMES, SplitTimes

WORTH_A_NAME = 0.001
"""Seconds."""


class LightClock:
    """The clock of one request. For the thread of its loop.

    :ivar steps: reports the steps of its tasks; None: it has stopped
    :ivar is_open: whether it has its numbers
    """

    __slots__ = ("_awaiting", "_collected", "_collected_before", "_depth", "_last", "_ready", "_running", "_times",
                 "_woken", "is_open", "steps")  # fmt: skip

    def __init__(self, steps: object, now: float) -> None:
        """Begins to count, within a step.

        :param now: the monotonic time
        """
        self.steps: Any = steps
        self.is_open = False
        self._times: SplitTimes
        self._last = now
        self._collected_before = garbage_time.spent

    def open(self) -> None:
        """There is more to count than the step in which the request began, which is under way still."""
        self.is_open = True
        self._depth, self._woken = 1, 0
        self._running = self._ready = self._awaiting = self._collected = 0.0

    def wake(self, since: float | None = None) -> None:
        """One of its tasks is ready for a step.

        :param since: the monotonic time from which it could have been, where the loop was late to see it
        """
        if not self.is_open:
            self.open()
        now = monotonic()
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
        if not self.is_open:
            self.open()
        self._count(monotonic())
        if not self._depth:
            self._collected_before = garbage_time.spent
        self._depth += 1

    def end(self) -> None:
        """The step ends."""
        if not self.is_open:
            self.open()
        self._count(monotonic())
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
            if passed >= WORTH_A_NAME and self.steps is not None:
                self.note_wait(passed)

    def stop(self, now: float) -> SplitTimes:
        """Count no longer. A second stop changes nothing.

        :param now: the monotonic time
        """
        if self.steps is None:
            return self._times
        if not self.is_open:
            spent = garbage_time.spent - self._collected_before
            collected = _whole(spent) if spent else _NO_GARBAGE
            self._times = SPLIT_TIMES[_whole(now - self._last), 0, 0, collected, ""]
            self.steps = None  # last: another thread that sees it reads the times
            return self._times
        self._count(now)
        if self._depth:
            self._collected += garbage_time.spent - self._collected_before
        awaited = self.settle()
        self._times = SPLIT_TIMES[
            _whole(self._running), _whole(self._ready), _whole(self._awaiting),
            _whole(self._collected) if self._collected else _NO_GARBAGE, awaited,
        ]  # fmt: skip
        self.steps = None
        return self._times

    def note_wait(self, seconds: float) -> None:
        """All its tasks have waited for so long, and are still where they waited."""

    def settle(self) -> str:
        """It stops: return what was awaited, as JSON; empty: there is no name for it."""
        return ""


def _whole(seconds: float) -> int:
    """Milliseconds. The built-in function for that takes five times as long."""
    return floor(seconds * 1000.0 + 0.5)


_NO_GARBAGE = 0 if garbage_time.is_known else None
