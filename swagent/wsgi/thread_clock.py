"""The clock of a request that a thread serves: the thread's processor time in the request's steps, and the rest.

A step is a call of the application, or the making of one piece of the body. Each begins and ends in one thread, though
not all of them need be in the same one, and between two steps the thread may serve other requests. So the clock reads
the thread's processor time at the begin and at the end of each step.

A thread does not know how long it was ready without running, because it waited for the interpreter's lock or for a
processor. So that is a part of the rest, and the request has no time of its own for it.
"""

from __future__ import annotations

import sys
import time
from _thread import get_ident
from collections.abc import Callable
from typing import Any

from ..request.pending import PendingRequest
from ..request.split_times import SPLIT_TIMES, SplitTimes, Tag

thread_time: Callable[[], float] | None = getattr(time, "thread_time", None)
"""Seconds of the processor that this thread has had; None: the system does not know."""

_NOWHERE = 0
"""In the place of the thread while no step is under way."""
_STOPPED = -1.0
"""In the place of the begin."""
_AT_ONCE = SPLIT_TIMES[0, None, 0, None, ""]
_WHOLE = 0.0005
"""So many seconds are a millisecond, by rounding."""


class ThreadClock:
    """The clock of one request: made by `split_time`, which sets what `begin_step` does not. A method for that would
    cost as much as all the rest.

    :ivar start: the monotonic time at which the request began
    :ivar now: gives the seconds of the processor that the calling thread has had
    :ivar running: those of the steps that are over
    """

    __slots__ = ("began", "now", "running", "start", "thread", "times")
    start: float
    now: Callable[[], float]
    running: float
    thread: int
    began: float
    times: SplitTimes | None

    def end_step(self) -> None:
        """The step ends, and there may be another one."""
        if self.start >= 0.0:
            self.running += self.now() - self.began
            self.thread = _NOWHERE

    def begin_step(self) -> None:
        """The next step begins."""
        self.thread = get_ident()
        self.began = self.now()

    def stop(self, now: float) -> SplitTimes | None:
        """Stop. A second stop changes nothing.

        :param now: the monotonic time
        :returns: None, if another thread stops it while a step is under way, or the processor time is none
        """
        start = self.start
        if start < 0.0:
            return self.times
        self.start = _STOPPED
        # most requests that do nothing, and it is true of each state
        self.times = times = _AT_ONCE if now - start < _WHOLE else self._count(now - start)
        return times

    def _count(self, passed: float) -> SplitTimes | None:
        running = self.running
        if self.thread != _NOWHERE:
            if self.thread != get_ident():
                return None
            running += self.now() - self.began
        # in a forked child the processor time of a thread begins anew
        if running < 0.0:
            return None
        whole = int(passed * 1000.0 + 0.5)
        # the two clocks do not tick alike
        spent = min(int(running * 1000.0 + 0.5), whole)
        return SPLIT_TIMES[spent, None, whole - spent, None, ""]

    def more_tags(self) -> tuple[Tag, ...]:
        """Nothing else is known."""
        return ()

    def throws_here(self) -> bool:
        """Nothing is thrown into a request of a thread."""
        return False


def split_time(request: PendingRequest) -> ThreadClock | None:
    """Give a clock to the request that this thread begins to serve; its first step is under way. None: the thread's
    processor time says nothing of it, because several greenlets share the thread, or because there is none. Never
    raises."""
    now = thread_time
    if now is None:
        return None
    try:
        greenlets: Any = _modules.get("greenlet")
        # the first greenlet of a thread is the thread itself
        if greenlets is not None and greenlets.getcurrent().parent is not None:
            return None
        clock = ThreadClock()
        clock.start = request.start_time
        clock.now = now
        clock.running = 0.0
        # as `begin_step` does, without the call
        clock.thread = get_ident()
        clock.began = now()
        request.clock = clock
    except Exception as error:  # noqa: BLE001, RUF100  (ours, and it costs no request)
        request.faults.note("timing a request", error)
        return None
    return clock


_modules = sys.modules
