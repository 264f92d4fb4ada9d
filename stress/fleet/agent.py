"""One agent, as far as its connection goes: its route, its dialling, and the age of its connection."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from swagent.pipeline.failover import Failover
from swagent_transports._connection_age import ConnectionAge

from .clock import Clock
from .collectors import Collector, Name
from .course import Course
from .dialling import TIMEOUT, Dialling

_REFUSED_PAUSE = 5.0


class Agent:
    """One of the fleet.

    :ivar collector: to which it is connected
    """

    def __init__(self, clock: Clock, name: Name, course: Course, random: Random, period: float, age: float) -> None:
        """:param period: seconds between two of its calls
        :param age: seconds that a connection lasts at most; 0: it stays
        """
        self.collector: Collector | None = None
        self._clock = clock
        self._name = name
        self._course = course
        self._failover = Failover(1, random.random)
        self._age = ConnectionAge(age, random.random)
        self._period = period
        self._phase = random.random() * period
        self._is_ready = True
        self._is_renewing = False
        self._is_timing_out = False
        # what was planned before something happened is void
        self._plans = 0

    def begin(self, collector: Collector, age: float) -> None:
        """Be connected, for so many seconds already."""
        self._settle(collector)
        self._age.begin(self._clock.now - age)
        self._wait()

    # -- the collector's side ------------------------------------------------------------------------------------------

    def notice(self) -> None:
        """See `Client`."""
        if self._is_ready and not self._is_timing_out:
            self._wait()

    def lose(self) -> None:
        """See `Client`. The next call dials, unless the route is closed, and its next attempt does so."""
        self._leave()
        self._course.lost(self)
        if self._is_timing_out:
            self._time_out()
        elif self._is_ready:
            self._wait()

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Go on to the next call of which something can come."""
        collector, from_time = self.collector, self._clock.now
        if collector is not None and collector.state == "well":
            from_time = max(from_time, self._age.over_at)
        if from_time < math.inf:
            # a thousandth more, or rounding may lead to the same time again and again
            turns = math.floor((from_time - self._phase) / self._period + 1.001)
            self._plan(self._phase + turns * self._period, self._call)

    def _call(self) -> None:
        collector = self.collector
        if collector is None:
            self._dial(self._connected, self._failed)
            return
        if self._clock.now >= self._age.over_at and not self._is_renewing:
            self._is_renewing = True
            self._dial(self._renewed, self._not_renewed)
        if collector.state in ("gone", "slow"):
            self._course.lost(self)
            self._is_timing_out = True
            self._plan(self._clock.now + TIMEOUT, self._time_out)
        elif collector.state == "refuses":
            self._course.refused(self)
            self._age.refused(self._clock.now)
            self._failed(_REFUSED_PAUSE)
        else:
            self._answered()

    def _answered(self) -> None:
        self._is_ready = True
        self._failover.confirmed(0)
        self._course.back(self)
        self._wait()

    def _time_out(self) -> None:
        self._is_timing_out = False
        self._leave()
        self._failed()

    def _failed(self, pause: float = 0.0) -> None:
        self._is_ready = False
        now = self._clock.now
        self._failover.failed(0, now, pause)
        _, delay = self._failover.choose(now)
        self._plan(now + delay, self._call)

    # -- connections ---------------------------------------------------------------------------------------------------

    def _dial(self, connected: Callable[[Collector], object], failed: Callable[[], object]) -> None:
        self._plans += 1
        Dialling(self._clock, self._course, self._name.resolve(), connected, failed).go_on()

    def _connected(self, collector: Collector) -> None:
        self._settle(collector)
        self._age.begin(self._clock.now)
        self._call()

    def _renewed(self, collector: Collector) -> None:
        if self.collector is not None:
            self._leave()
            self._settle(collector)
        self._not_renewed()

    def _not_renewed(self) -> None:
        """The old connection stays, unless it is lost: then the next call dials, or does so already."""
        self._is_renewing = False
        if self.collector is None:
            return
        self._age.begin(self._clock.now)
        if self._is_ready and not self._is_timing_out:
            self._call()

    def _settle(self, collector: Collector) -> None:
        self.collector = collector
        collector.clients[self] = None

    def _leave(self) -> None:
        if self.collector is not None:
            del self.collector.clients[self]
            self.collector = None

    def _plan(self, when: float, function: Callable[[], object]) -> None:
        self._plans += 1
        number = self._plans

        def run() -> None:
            if number == self._plans:
                function()

        self._clock.call_at(when, run)
