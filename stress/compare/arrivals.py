"""Requests on a fixed schedule, whatever the server does: an open loop.

The latency of a request counts from the moment it was due. A closed loop sends nothing while the server stalls, and so
sees one slow request where users saw many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FixedRate:
    """The outcome of the requests of one schedule; times in milliseconds.

    :ivar rate: requests a second, as planned
    :ivar answered: share of the requests answered before the end of the run
    :ivar own_delay: 99th percentile of how late the generator sent the requests that it could have sent
    :ivar generator_busy: share of a core that the generator took
    """

    rate: float
    requests: int
    answered: float
    p50: float
    p99: float
    longest: float
    own_delay: float
    generator_busy: float = 0.0


class Arrivals:
    """The schedule, and what is due, under way and done. Times are seconds of one clock, which the caller reads."""

    def __init__(self, start: float, rate: float, seconds: float) -> None:
        self._start = start
        self._rate = rate
        self._planned = max(1, round(rate * seconds))
        self._taken = 0
        self._under_way: dict[int, float] = {}
        self._latencies: list[float] = []
        self._delays: list[float] = []

    @property
    def next_due(self) -> float | None:
        """When the next request is due; it may be past. None: there is none left."""
        return self._start + self._taken / self._rate if self._taken < self._planned else None

    @property
    def is_over(self) -> bool:
        """Whether all are answered."""
        return self._taken == self._planned and not self._under_way

    def send(self, connection: int, free_since: float, now: float) -> None:
        """The next request, which is due, goes out over a connection that had nothing to do since then."""
        due = self.next_due
        assert due is not None
        assert due <= now, "not due yet"
        self._taken += 1
        self._under_way[connection] = due
        self._delays.append(now - max(due, free_since))

    def answer(self, connection: int, now: float) -> None:
        """The connection's request is answered."""
        self._latencies.append(now - self._under_way.pop(connection))

    def summarise(self, now: float) -> FixedRate:
        """The outcome of all requests. A request without an answer, sent or not, has waited at least until now."""
        answered = len(self._latencies)
        unsent = (self._start + number / self._rate for number in range(self._taken, self._planned))
        waits = [now - due for due in (*self._under_way.values(), *unsent)]
        latencies = sorted(1000 * each for each in (*self._latencies, *waits))
        return FixedRate(
            rate=self._rate,
            requests=self._planned,
            answered=answered / self._planned,
            p50=percentile(latencies, 0.5),
            p99=percentile(latencies, 0.99),
            longest=latencies[-1],
            own_delay=percentile(sorted(1000 * each for each in self._delays) or [math.nan], 0.99),
        )


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so large a share does not exceed (nearest rank)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
