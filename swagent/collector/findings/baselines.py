"""How long operations take usually, by the calls that are kept.

What was read is kept for some seconds, since a page asks for one trace after the other, and all of them have the same
operations.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

from ..cancelling import stop_if_cancelled
from ..store.store import Store
from .durations import Durations, Operation, calls_of, count
from .finding import Baseline

MOST = 40
"""Operations that are looked for at once."""
SECONDS = 10.0
"""How old may be what is kept, while the store changes."""
MOST_KEPT = 400
"""Names of operations that are kept."""
MOST_LENGTHS = 100_000
"""Different durations that are kept, of all operations together."""
_GROWTH = 10  # it is read anew once a tenth as many segments have come as it was read from
_LEAST = 2  # one other call is not enough to call it usual

Usual = Mapping[Operation, Baseline]


class _Read(NamedTuple):
    """What was read of all operations with one name.

    :ivar numbers: of the segments that there were: all above the first, up to the second
    :ivar at: the clock's time before it was read
    """

    durations: Durations
    numbers: tuple[int, int]
    version: int
    at: float

    @property
    def size(self) -> int:
        """Different durations."""
        return sum(map(len, self.durations.values()))


class Baselines:
    """The baselines of operations. One thread at a time may ask."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        """:param clock: seconds"""
        self._store = store
        self._clock = clock
        self._kept: OrderedDict[tuple[str, int | None], _Read] = OrderedDict()

    def usual(self, operations: Iterable[Operation], without: Iterable[int] = ()) -> Usual:
        """The baseline of each operation that has other calls, by each segment that is kept.

        :param without: the numbers of segments whose calls do not count: those of the trace that is compared
        :raises StoreError: when the store cannot be read
        """
        wanted = _wanted(operations)
        read = self._read(wanted, None)
        own: dict[Operation, Counter[int]] = {each: Counter() for each in wanted}
        for number in without:
            stop_if_cancelled()
            for operation, duration in calls_of(self._store, number):
                durations = own.get(operation)
                if durations is not None and _has(read[operation.operation], number):
                    durations[duration] += 1
        return _baselines((each, _of(read, each) - durations) for each, durations in own.items())

    def sampled(self, operations: Iterable[Operation], most: int) -> Usual:
        """The baseline of each operation, by a part of the segments.

        :param most: about so many are looked at, from all of the time
        :raises StoreError: when the store cannot be read
        """
        wanted = _wanted(operations)
        read = self._read(wanted, most)
        return _baselines((each, _of(read, each)) for each in wanted)

    def _read(self, operations: Iterable[Operation], most: int | None) -> dict[str, _Read]:
        """What is known, by the names of operations; those of which nothing new enough is kept are read at once."""
        now, version, numbers = self._clock(), self._store.version, self._store.numbers("segments")
        found: dict[str, _Read] = {}
        missing: list[str] = []
        for name in dict.fromkeys(each.operation for each in operations):
            read = self._kept.get((name, most))
            if read is None or (read.version != version and _is_old(read, numbers[1], now)):
                missing.append(name)
            else:
                found[name] = read
        if missing:
            counted, numbers = count(self._store, missing, most, numbers)
            for name in missing:
                found[name] = self._kept[name, most] = _Read(counted[name], numbers, version, now)
                self._kept.move_to_end((name, most))
            self._forget()
        return found

    def _forget(self) -> None:
        """Drop what was read first, where it is too much."""
        size = sum(read.size for read in self._kept.values())
        while self._kept and (len(self._kept) > MOST_KEPT or size > MOST_LENGTHS):
            size -= self._kept.popitem(last=False)[1].size


def _wanted(operations: Iterable[Operation]) -> list[Operation]:
    return list(dict.fromkeys(operations))[:MOST]


def _of(read: Mapping[str, _Read], operation: Operation) -> Counter[int]:
    return read[operation.operation].durations.get(operation, Counter())


def _has(read: _Read, number: int) -> bool:
    """Whether a segment is among those that were read."""
    return read.numbers[0] < number <= read.numbers[1]


def _is_old(read: _Read, last: int, now: float) -> bool:
    low, high = read.numbers
    return now - read.at >= SECONDS or (last - high) * _GROWTH > high - low


def _baselines(found: Iterable[tuple[Operation, Counter[int]]]) -> Usual:
    counted = ((each, durations, durations.total()) for each, durations in found)
    return {each: Baseline(_median(durations, total), total) for each, durations, total in counted if total >= _LEAST}


def _median(durations: Counter[int], total: int) -> int:
    """The duration that half of the calls do not exceed, as the nearest of the real ones."""
    ordered = sorted(durations)
    counts = accumulate(durations[each] for each in ordered)
    return next(each for each, reached in zip(ordered, counts, strict=True) if 2 * reached >= total)
