"""The course of a fleet: how many agents are without a collector, and how many connections are made in each second."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .clock import Clock


@dataclass(frozen=True)
class Recovery:
    """From the time at which agents are without a collector, and there is one, to the time at which all have one.

    :ivar peak: connections in the busiest second
    :ivar mean: connections a second
    """

    began: float
    seconds: float
    peak: int
    mean: float

    @property
    def ratio(self) -> float:
        """How much the peak is above the mean."""
        return self.peak / self.mean if self.mean else 0.0


class Course:
    """What agents report here.

    :ivar refusals: calls that were refused
    :ivar recoveries: those that are over
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._away: set[object] = set()
        self._began: float | None = None
        self._is_possible = True
        self._each_second: Counter[int] = Counter()
        self.refusals = 0
        self.recoveries: list[Recovery] = []

    @property
    def away(self) -> int:
        """How many agents are without a collector that takes their calls."""
        return len(self._away)

    def possible(self, *, is_possible: bool) -> None:
        """Whether there is any collector."""
        if is_possible == self._is_possible:
            return
        self._is_possible = is_possible
        self._began = self._clock.now if is_possible and self._away else None

    def lost(self, agent: object) -> None:
        """An agent has lost its collector."""
        if not self._away and self._is_possible:
            self._began = self._clock.now
        self._away.add(agent)

    def refused(self, agent: object) -> None:
        """The collector of an agent has refused its call."""
        self.refusals += 1
        self.lost(agent)

    def back(self, agent: object) -> None:
        """An agent has a collector that takes its calls."""
        if agent in self._away:
            self._away.remove(agent)
            if not self._away and self._began is not None:
                self.recoveries.append(self._recovery(self._began))

    def made(self) -> None:
        """A collector was asked for a connection."""
        self._each_second[int(self._clock.now)] += 1

    def connections(self, begin: float, end: float) -> float:
        """Connections a second, between two times."""
        return sum(self._each_second[second] for second in range(int(begin), int(end))) / (end - begin)

    def _recovery(self, began: float) -> Recovery:
        first, last = int(began), int(self._clock.now)
        counts = [self._each_second[second] for second in range(first, last + 1)]
        seconds = self._clock.now - began
        return Recovery(began, seconds, max(counts), sum(counts) / max(seconds, 1.0))
