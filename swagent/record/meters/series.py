"""One meter with one set of labels: where the application's threads count, and where the report reads.

Counting is a few statements under the series' own lock. There is no foreign code among them: a value becomes a number
before. The lock is re-entrant, because a signal handler or a finaliser of the very thread that is inside may count too.
The interpreter runs those at calls only, and inside the lock there is no call.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from typing import cast

from ..foreign import must_reach_application
from .samples import HistogramSample, Labels, Sample, SingleSample, bucket

_INFINITY = math.inf


def as_number(value: object) -> float:
    """The value as a float; NaN for what is no number."""
    try:
        # float() itself would read texts too
        is_number = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
        return float(cast("float", value)) if is_number else math.nan
    except BaseException as error:  # noqa: BLE001, RUF100  (the value's own code may raise anything)
        if must_reach_application(error):
            raise
        return math.nan


class Series:
    """The base of all kinds."""

    __slots__ = ("_lock", "ignored", "is_parent", "labels", "name")

    def __init__(self, name: str, labels: Labels) -> None:
        self.name = name
        self.labels = labels
        self.ignored = 0
        """Values that could not be taken."""
        self.is_parent = False
        """Whether series with more labels were made from it: then this one may exist for their sake only."""
        self._lock = threading.RLock()

    @property
    def is_used(self) -> bool:
        """Whether anything was counted here."""
        raise NotImplementedError

    def sample(self) -> Sample:
        """The sample to report."""
        raise NotImplementedError

    def ignore(self) -> None:
        """Count a value that could not be taken."""
        with self._lock:
            self.ignored += 1

    def renew(self) -> None:
        """In a forked child: the counts belong to the parent, and so did a lock that may be held for ever."""
        self._lock = threading.RLock()
        self.ignored = 0


class CounterSeries(Series):
    """A running total, reported as it is or as the difference to the report before."""

    __slots__ = ("_is_rate", "_reported", "_total")

    def __init__(self, name: str, labels: Labels, is_rate: bool = False) -> None:
        super().__init__(name, labels)
        self._is_rate = is_rate
        self._total = 0.0
        self._reported = 0.0

    def add(self, amount: float) -> None:
        """Count. An amount that is not finite or below zero is ignored."""
        if type(amount) is not float:
            amount = as_number(amount)
        with self._lock:
            total = self._total + amount
            if amount >= 0.0 and total < _INFINITY:
                self._total = total
            else:
                self.ignored += 1

    @property
    def is_used(self) -> bool:
        return self._total > 0.0

    def sample(self) -> SingleSample:
        with self._lock:
            total, before = self._total, self._reported
            self._reported = total
        return SingleSample(self.name, self.labels, total - before if self._is_rate else total)

    def renew(self) -> None:
        super().renew()
        self._total = self._reported = 0.0


class HistogramSeries(Series):
    """How many values fell into each bucket, since the start."""

    __slots__ = ("_bounds", "_counts")

    def __init__(self, name: str, labels: Labels, bounds: tuple[float, ...]) -> None:
        super().__init__(name, labels)
        self._bounds = bounds
        self._counts = [0] * len(bounds)

    def observe(self, value: float) -> None:
        """Count a value. One that is not finite or below the lowest bound is ignored."""
        if type(value) is not float:
            value = as_number(value)
        # NaN compares false with everything, so it would go into the last bucket: the second condition prevents that
        index = bisect_right(self._bounds, value) - 1
        if index >= 0 and -_INFINITY < value < _INFINITY:
            with self._lock:
                self._counts[index] += 1
        else:
            self.ignore()

    @property
    def is_used(self) -> bool:
        return any(self._counts)

    def sample(self) -> HistogramSample:
        with self._lock:
            counts = tuple(self._counts)
        return HistogramSample(self.name, self.labels, tuple(map(bucket, self._bounds, counts)))

    def renew(self) -> None:
        super().renew()
        self._counts = [0] * len(self._bounds)
