"""Whether two sides differ, or may differ by chance; pure.

A few calls say little: the p95 of ten calls is the slowest of them. So each number comes with a range in which the true
one lies, nearly always. Two sides differ where these ranges do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .sums import quantile

Answer = dict[str, Any]
LEAST = 20
"""Calls on each side below which nothing is said to differ."""
_DEVIATIONS = 2.0
_LONGEST = 1_000_000
Range = tuple[float, float]


@dataclass
class Side:
    """The calls of an endpoint before a moment, or after it.

    :ivar durations: sorted when it is read
    """

    durations: list[int] = field(default_factory=list[int])
    errors: int = 0
    queries: int = 0
    squares: int = 0

    def add(self, duration: int, is_error: int, queries: int) -> None:
        """Add a call."""
        self.durations.append(duration)
        self.errors += is_error
        self.queries += queries
        self.squares += min(queries, _LONGEST) ** 2

    @property
    def calls(self) -> int:
        """How many there are."""
        return len(self.durations)

    def answer(self) -> Answer:
        """Its numbers; those that cannot be known of no calls are None."""
        calls = self.calls
        return {
            "calls": calls,
            "errors": self.errors,
            "error_rate": self.errors / calls if calls else None,
            "p50": quantile(self.durations, 50),
            "p95": quantile(self.durations, 95),
            "queries": round(self.queries / calls, 3) if calls else None,
        }

    def ranges(self) -> dict[str, Range]:
        """Where the true numbers lie; of at least one call."""
        return {
            "p50": _quantile_range(self.durations, 0.5),
            "p95": _quantile_range(self.durations, 0.95),
            "error_rate": _share_range(self.errors, self.calls),
            "queries": _mean_range(self.queries, self.squares, self.calls),
        }


def differences(before: Side, after: Side) -> dict[str, int]:
    """Of each number 1 where it is larger after, -1 where it is smaller, 0 where that may be chance."""
    if min(before.calls, after.calls) < LEAST:
        return dict.fromkeys(("p50", "p95", "error_rate", "queries"), 0)
    old, new = before.ranges(), after.ranges()
    return {name: (new[name][0] > old[name][1]) - (new[name][1] < old[name][0]) for name in old}


def worse(before: Side, after: Side) -> float:
    """How much worse it got, as far as that is sure; below zero where it got better."""
    found, old, new = differences(before, after), before.answer(), after.answer()
    factors = [
        math.log2((new[name] + soft) / (old[name] + soft))
        for name, soft in (("p50", 1), ("p95", 1), ("queries", 1), ("error_rate", 0.01))
        if found[name]
    ]
    up = max((each for each in factors if each > 0), default=0.0)
    return up or min(factors, default=0.0)


def _quantile_range(ordered: Sequence[int], share: float) -> Range:
    """By the ranks of a binomial distribution; without an end where there are too few calls."""
    count = len(ordered)
    spread = _DEVIATIONS * math.sqrt(count * share * (1 - share))
    low, high = math.floor(count * share - spread) - 1, math.ceil(count * share + spread)
    return ordered[low] if low >= 0 else -math.inf, ordered[high] if high < count else math.inf


def _share_range(hits: int, count: int) -> Range:
    """After Wilson, which holds for rare errors too."""
    square = _DEVIATIONS**2
    middle = (hits + square / 2) / (count + square)
    spread = _DEVIATIONS / (count + square) * math.sqrt(hits * (count - hits) / count + square / 4)
    return middle - spread, middle + spread


def _mean_range(total: int, squares: int, count: int) -> Range:
    mean = total / count
    spread = _DEVIATIONS * math.sqrt(max(squares / count - mean**2, 0.0) / count)
    return mean - spread, mean + spread
