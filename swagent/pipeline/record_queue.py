"""What waits in a channel: records, the oldest first, each with when it was offered and its number.

They stand in one flat row, record, time, number, record, time, number. A tuple for each record would be an object that
the garbage collector counts. 500 of them wait for a batch, and with those on their way the collector would run at each
batch. What it finds alive then brings a full collection nearer, which holds a web application for 40 ms. Bytes, floats
and ints are not counted.

Going in is one call, and coming out is one call, and nothing can interrupt either. So a signal handler or a finaliser
that offers a record in between finds the row in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, cast


class RecordQueue:
    """:ivar put: takes a record in, as `(record, time, number)`"""

    __slots__ = ("_oldest", "_parts", "_row", "put")

    def __init__(self) -> None:
        self._row: deque[Any] = deque()
        self.put = self._row.extend
        # no part is None, and nothing but C runs between the three
        parts = self._parts = iter(self._row.popleft, None)
        self._oldest = cast("Iterator[tuple[bytes, float, int]]", zip(parts, parts, parts, strict=False))

    def __len__(self) -> int:
        return len(self._row) // 3

    @property
    def oldest_time(self) -> float:
        """When the oldest was offered. This and the next only while something waits."""
        return cast("float", self._row[1])

    @property
    def oldest_number(self) -> int:
        """The number of the oldest."""
        return cast("int", self._row[2])

    def take(self, most: int, most_bytes: int) -> tuple[list[bytes], list[float], list[int], int]:
        """The oldest, at least one if any waits: records, times, numbers, and the bytes of all."""
        taken: list[Any] = list(islice(self._parts, 3 * min(most, len(self))))
        records, times, numbers = taken[0::3], taken[1::3], taken[2::3]
        sizes = list(map(len, records))
        size = sum(sizes)
        if size > most_bytes and len(records) > 1:
            kept, size = 0, 0
            while kept < len(sizes) and (not kept or size + sizes[kept] <= most_bytes):
                size += sizes[kept]
                kept += 1
            self._row.extendleft(reversed(taken[3 * kept :]))
            del records[kept:], times[kept:], numbers[kept:]
        return records, times, numbers, size

    def take_one(self) -> bytes:
        """The oldest."""
        return next(self._oldest)[0]

    def put_back(self, records: Sequence[bytes], times: Sequence[float], numbers: Sequence[int]) -> None:
        """Put records to the head, but behind those that are older still."""
        older: list[tuple[bytes, float, int]] = []
        while self._row and self._row[2] < numbers[0]:
            older.append(next(self._oldest))
        returning: Iterable[Any] = chain(older, zip(records, times, numbers, strict=True))
        self._row.extendleft(reversed(list(chain.from_iterable(returning))))
