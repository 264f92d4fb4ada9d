"""Which new traces are recorded: at most n in each window of three seconds, as the official agents count it."""

from __future__ import annotations

import time
from collections.abc import Callable

WINDOW = 3.0


class Sampler:
    """Lets the first n traces of each window through. Called under the tracer's lock."""

    def __init__(self, per_window: int, clock: Callable[[], float] = time.monotonic) -> None:
        """:param per_window: how many traces a window takes; 0 or less takes all"""
        self._per_window = per_window
        self._clock = clock
        self._window_ends = 0.0
        self._taken = 0

    @property
    def takes_all(self) -> bool:
        """Whether no trace is ever left out."""
        return self._per_window <= 0

    def take(self, forced: bool = False) -> bool:
        """Decide on one new trace. A trace that an upstream service already samples is forced: it counts towards
        the window and is taken even when the window is full, or its tree would have a hole here."""
        if self._per_window <= 0:
            return True
        now = self._clock()
        if now >= self._window_ends:
            self._window_ends = now + WINDOW
            self._taken = 0
        self._taken += 1
        return forced or self._taken <= self._per_window
