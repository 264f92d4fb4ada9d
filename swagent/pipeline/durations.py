"""How long requests of one endpoint take, and which of them are slow: in little memory, whatever comes."""

from __future__ import annotations

from array import array
from math import log2

_STEPS = 4
"""How many buckets a doubling of the time has: a bucket ends 19 % above its begin."""
_BUCKETS = 96
_SHORTEST = 14 * _STEPS
"""The lowest bucket is that of 2**-14 s and less, the highest that of 2**10 s and more."""
_FORGETTING = 512
"""At so many durations each bucket loses half of its count, so that what is usual may change."""
_KNOWN = 20
"""From so many durations on, the others can be slow."""
_PART, _OF = 19, 20
"""The 95th percentile."""


class Durations:
    """The durations of one endpoint. One caller at a time."""

    __slots__ = ("_buckets", "_count", "_limit")

    def __init__(self) -> None:
        self._buckets = array("H", bytes(2 * _BUCKETS))
        self._count = 0
        self._limit: int | None = None

    def add(self, seconds: float) -> None:
        """Take one in."""
        self._buckets[_bucket_of(seconds)] += 1
        self._count += 1
        if self._count >= _FORGETTING:
            self._buckets = array("H", [count // 2 for count in self._buckets])
            self._count = sum(self._buckets)
        if not self._count % _KNOWN:
            self._limit = self._find_limit()

    def is_slow(self, seconds: float) -> bool:
        """Whether it is longer than the 95th percentile of the durations so far, by at least a bucket. None is while
        there are few."""
        return self._limit is not None and _bucket_of(seconds) > self._limit

    def _find_limit(self) -> int:
        """The bucket in which the percentile is."""
        below = 0
        for bucket, count in enumerate(self._buckets):
            below += count
            if below * _OF >= self._count * _PART:
                return bucket
        return _BUCKETS


def _bucket_of(seconds: float) -> int:
    # what is not above 0 comes of a clock that was set
    place = int(log2(seconds) * _STEPS + _SHORTEST) if seconds > 0 else 0
    return min(max(place, 0), _BUCKETS - 1)
