"""The code of a step that takes long, though it does not hold the loop for as long as the limit.

The time split says how long a request's own code ran, and not where. So where the watch of the loop finds that one task
runs all the while between two of its looks, it logs the place of the code with the task's span. One place is kept for
each span.

The looks of the watch are far apart, so the first long steps of a program are found by chance. Where one was found,
more are likely: the watch looks more often for some seconds then, and finds nearly all that are long enough. A program
without long steps is not looked at more often.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress

from ..agent_log import RateLimitedLog
from ..inspection.frames import frame_of
from ..inspection.loop_view import LoopView, Task
from ..record.trace.span import Span
from .blocked_loop import place_of, span_of

OWN_CODE = "own.code"
LONG_STEP = 0.015
"""Seconds for which a step has to take at least."""
_NEAR = 10.0
"""Seconds after a long step in which others are likely."""
_EVENT = ("event", OWN_CODE)
_limited = RateLimitedLog()


class LongSteps:
    """Of the tasks of one loop. For the thread that watches it."""

    def __init__(self, view: LoopView) -> None:
        self._view = view
        self._last = -math.inf

    def are_near(self) -> bool:
        """Whether there was one not long ago."""
        return time.monotonic() - self._last < _NEAR

    def note(self, running: Task) -> None:
        """Log where a task is that has run for long, if it still runs. Never raises.

        :param running: this task
        """
        try:
            self._note(running)
        except Exception as error:  # noqa: BLE001, RUF100  (what it looks at is no public interface)
            _limited.warn("loop watch", "a long step could not be looked into: %r", error)

    def _note(self, running: Task) -> None:
        if self._view.running() is not running:
            return
        place = place_of(frame_of(self._view.thread))
        span = span_of(running)
        # it may have gone on meanwhile, and the code be another's
        if span is None or self._view.running() is not running:
            return
        self._last = time.monotonic()
        if not any(_EVENT in data for _, data in span.logs):
            span.log(event=OWN_CODE, frame=place.frame, stack=place.stack)

    def take_back(self, span: Span) -> None:
        """It holds the loop now, which has a log of its own."""
        for entry in [each for each in span.logs if _EVENT in each[1]]:
            # one that the application adds meanwhile stays
            with suppress(ValueError):
                span.logs.remove(entry)
