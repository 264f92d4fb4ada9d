"""Which collector to try, and when. Pure: time and randomness are handed in.

Every collector has a backoff of its own with full jitter: after the n-th failure in a row it rests for a random time
up to `base * factor ** (n - 1)` seconds, capped. Full jitter spreads the clients of a collector that comes back; see
"Exponential Backoff and Jitter" (AWS Architecture Blog) and gRPC's connection-backoff document, whose factor and base
these are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Backoff(NamedTuple):
    """How long to rest after failures in a row."""

    base: float = 1.0
    factor: float = 1.6
    cap: float = 30.0

    def delay(self, failures: int, random: Callable[[], float]) -> float:
        """:param failures: how many there were in a row, at least 1
        :param random: gives a number from 0 to 1"""
        # the exponent is bounded before it is raised, or a long outage ends in an overflow
        return random() * min(self.cap, self.base * self.factor ** min(failures - 1, 64))


@dataclass
class _Rest:
    failures: int = 0
    until: float = 0.0


class Failover:
    """The collectors of one agent, by their index in the configuration."""

    def __init__(self, count: int, random: Callable[[], float], backoff: Backoff | None = None) -> None:
        self._rests = [_Rest() for _ in range(count)]
        self._random = random
        self._backoff = backoff or Backoff()
        self._preferred = 0

    def choose(self, now: float) -> tuple[int, float]:
        """The collector to try next and how many seconds to wait before. It stays with the one that works. After a
        failure the next of the list comes first, so a healthy one is reached without any wait."""
        count = len(self._rests)
        order = [(self._preferred + step) % count for step in range(count)]
        chosen = min(order, key=lambda index: max(0.0, self._rests[index].until - now))
        return chosen, max(0.0, self._rests[chosen].until - now)

    def failed(self, index: int, now: float, pause: float = 0.0) -> None:
        """Note a failure. `pause` is how long the collector itself asked to be left alone, in seconds."""
        rest = self._rests[index]
        rest.failures += 1
        rest.until = now + max(pause, self._backoff.delay(rest.failures, self._random))
        self._preferred = (index + 1) % len(self._rests)

    def confirmed(self, index: int) -> None:
        """Note that the collector works."""
        self._rests[index] = _Rest()
        self._preferred = index

    def wake(self) -> None:
        """Skip all backoff."""
        for rest in self._rests:
            rest.until = 0.0
