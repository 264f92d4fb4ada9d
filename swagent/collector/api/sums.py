"""Sums over calls: how many, how many failed, how long they took, how often they came, and how that went on. Times in
milliseconds, rates between 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..store.database import Row

Answer = dict[str, Any]
PARTS = 30
"""Points of a trend."""
MOMENT = 10_000
"""Milliseconds: how exactly it is kept when there were calls."""
# Milliseconds: how much of the newest time makes the rate, and the longest trend where no time was asked for.
_RECENT = 300_000
_LONGEST_TREND = 3_600_000
_MINUTE = 60_000


class Trend(NamedTuple):
    """The time that a trend shows, in `PARTS` parts.

    :ivar start: of the first part
    :ivar width: of each part, whole moments
    """

    start: int
    width: int

    def part(self, moment: int) -> int:
        """The part that a moment lies in; below zero, or `PARTS` and more, where it lies in none."""
        return (moment * MOMENT - self.start) // self.width


def trend(first: int, last: int, is_bounded: bool) -> Trend:
    """The trend that ends with the last call. Where no time was chosen it is an hour at most, so that a trace of
    yesterday does not squeeze what is going on.

    :param first: when the first call began, or the time that was asked for
    """
    span = max(last - first, 0)
    if not is_bounded:
        span = min(span, _LONGEST_TREND - MOMENT)
    width = (span // (PARTS * MOMENT) + 1) * MOMENT
    return Trend((last // MOMENT + 1) * MOMENT - PARTS * width, width)


class Sum:
    """The sum of the calls with one key."""

    __slots__ = ("errors", "last", "moments", "through")

    def __init__(self) -> None:
        self.errors = 0
        self.through = 0
        self.last = 0
        self.moments: dict[int, list[int]] = {}  # durations, by when the call began

    def add(self, start: int, duration: int, is_error: int) -> None:
        """Add a call.

        :param is_error: 1 when it failed, 2 when that came through from a service that it called
        """
        moment = start // MOMENT
        found = self.moments.get(moment)
        if found is None:
            self.moments[moment] = [duration]
        else:
            found.append(duration)
        self.errors += is_error == 1
        self.through += is_error > 1
        self.last = max(self.last, start)

    def merge(self, other: Sum) -> None:
        """Add all calls of another sum."""
        for moment, durations in other.moments.items():
            self.moments.setdefault(moment, []).extend(durations)
        self.errors += other.errors
        self.through += other.through
        self.last = max(self.last, other.last)

    def answer(self, until: int, shown: Trend | None = None) -> Answer:
        """The sum as it is answered.

        :param until: the end of the time that was asked for: the rate is that of the five minutes before it
        :param shown: the trend that the answer contains, where one is wanted
        """
        parts: dict[int, list[int]] = {}
        for moment, durations in self.moments.items():
            parts.setdefault(min(max(shown.part(moment), -1), PARTS) if shown else 0, []).extend(durations)
        for durations in parts.values():
            durations.sort()
        ordered = [each for durations in parts.values() for each in durations]
        ordered.sort()
        calls = len(ordered)
        answer: Answer = {
            "calls": calls,
            "errors": self.errors,
            "through": self.through,
            "error_rate": self.errors / calls if calls else 0.0,
            "total": sum(ordered),
            **{f"p{part}": quantile(ordered, part) for part in (50, 95, 99)},
            "calls_per_minute": self._rate(until),
            "last_call": self.last or None,
        }
        if shown is not None:
            answer["trend"] = {
                "calls": [len(parts.get(number, ())) for number in range(PARTS)],
                "p95": [quantile(parts.get(number, ()), 95) for number in range(PARTS)],
            }
        return answer

    def _rate(self, until: int) -> float:
        """Calls a minute, now: over the last five minutes, or since the first call, but over one minute at least."""
        low = (until - _RECENT) // MOMENT
        recent = [moment for moment in self.moments if low < moment <= until // MOMENT]
        first = min(self.moments, default=0) * MOMENT
        minutes = min(max((until - first) / _MINUTE, 1.0), _RECENT / _MINUTE)
        return round(sum(len(self.moments[moment]) for moment in recent) / minutes, 2)


class Sums:
    """Sums by key.

    :param width: how many columns are the key
    """

    def __init__(self, width: int) -> None:
        self.by_key: dict[Any, Sum] = {}
        self._width = width

    def add(self, rows: Iterable[Row]) -> None:
        """Add what a query found: the key, then start, duration, and whether it failed."""
        by_key, width = self.by_key, self._width
        for row in rows:
            key = row[0] if width == 1 else row[:width]
            found = by_key.get(key)
            if found is None:
                found = by_key[key] = Sum()
            found.add(*row[width:])

    def folded(self, column: int) -> Sums:
        """The sums by one column of the key."""
        folded = Sums(1)
        for key, each in self.by_key.items():
            folded.by_key.setdefault(key[column], Sum()).merge(each)
        return folded

    def extent(self, now: int) -> tuple[int, int]:
        """When the first and the last call began. A clock that is ahead does not make it longer."""
        first = min((min(each.moments) for each in self.by_key.values()), default=0) * MOMENT
        last = max((each.last for each in self.by_key.values()), default=0)
        return first, min(last, now)

    def answers(self, until: int, shown: Trend | None = None) -> dict[Any, Answer]:
        """The sums as they are answered, sorted by key."""
        answers: dict[Any, Answer] = {}
        for key in sorted(self.by_key):
            answers[key] = self.by_key[key].answer(until, shown)
        return answers


def quantile(ordered: Sequence[int], part: int) -> int | None:
    """The duration that so many of a hundred calls do not exceed, as the nearest of the real ones."""
    return ordered[-(-len(ordered) * part // 100) - 1] if ordered else None
