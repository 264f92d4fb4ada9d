"""One attempt to connect: the addresses of a name one after the other, as the transports try them."""

from __future__ import annotations

from collections.abc import Callable

from swagent_transports._resolver import LONGEST_WAIT

from .clock import Clock
from .collectors import ROUND_TRIP, Collector
from .course import Course

TIMEOUT = 5.0
"""Seconds that a call may take, with the connection that it needs."""


class Dialling:
    """One attempt."""

    def __init__(
        self,
        clock: Clock,
        course: Course,
        left: list[Collector | None],
        connected: Callable[[Collector], object],
        failed: Callable[[], object],
    ) -> None:
        """:param left: the collectors to try; None: a balancer that has none"""
        self._clock = clock
        self._course = course
        self._left = left
        self._connected = connected
        self._failed = failed
        self._until = clock.now + TIMEOUT

    def go_on(self) -> None:
        """Try the next address."""
        if not self._left or self._clock.now >= self._until:
            self._failed()
            return
        collector = self._left.pop(0)
        if collector is None or collector.state == "dead":
            self._clock.call_later(ROUND_TRIP, self.go_on)
            return
        seconds = None if collector.state == "gone" else collector.admit()
        if seconds is None:
            longest = LONGEST_WAIT if self._left else self._until - self._clock.now
            self._clock.call_later(longest, self.go_on)
            return
        self._course.made()
        life, ends = collector.life, min(self._clock.now + seconds, self._until)
        self._clock.call_at(ends, lambda: self._greeted(collector, life))

    def _greeted(self, collector: Collector, life: int) -> None:
        """The collector has taken the connection, if it is still there, and in time."""
        if collector.is_up and collector.life == life and self._clock.now < self._until:
            self._connected(collector)
        else:
            self._failed()
