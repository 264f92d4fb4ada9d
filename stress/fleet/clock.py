"""A virtual clock, and the calls that wait for it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable


class Clock:
    """Time goes from one call to the next.

    :ivar now: seconds since the begin
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._numbers = itertools.count()
        self._calls: list[tuple[float, int, Callable[[], object]]] = []

    def call_at(self, when: float, function: Callable[[], object]) -> None:
        """Call a function at a time. Those of the same time in the order in which they came."""
        heapq.heappush(self._calls, (max(when, self.now), next(self._numbers), function))

    def call_later(self, seconds: float, function: Callable[[], object]) -> None:
        """Call a function after a while."""
        self.call_at(self.now + seconds, function)

    def run_until(self, end: float) -> None:
        """Make all calls up to a time."""
        while self._calls and self._calls[0][0] <= end:
            self.now, _, function = heapq.heappop(self._calls)
            function()
        self.now = end
