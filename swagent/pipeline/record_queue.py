"""The records that wait in a channel, the oldest first, each with the time of its offer and its number.

They are in one flat row, as they were offered: several records, their times, the number of the first, the bytes of
all, and so on. A tuple for each record would be an object that the garbage collector counts. 500 of them wait for a
batch, and with those on their way the collector would run at each batch. The objects that it finds alive then bring a
full collection nearer, which holds a web application for 40 ms. Bytes, floats and ints are not counted, and two lists
serve a whole group of records. A batch mostly takes whole groups, and looks at none of their records.

Going in is one call, and coming out is one call, and nothing can interrupt either. So a signal handler or a finaliser
that offers a record in between finds the row in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, cast

Group = tuple[list[bytes], list[float], int, int]


class RecordQueue:
    """:ivar put: takes records in that were offered together, as `(records, times, number of the first, bytes of all)`;
    they are its own from then on"""

    __slots__ = ("_oldest", "_row", "put")

    def __init__(self) -> None:
        self._row: deque[Any] = deque()
        self.put = self._row.extend
        # no part is None, and only C runs while the four are taken
        parts = iter(self._row.popleft, None)
        self._oldest = cast("Iterator[Group]", zip(parts, parts, parts, parts, strict=False))

    def __len__(self) -> int:
        return sum(map(len, islice(self._row, 0, None, 4)))

    def __bool__(self) -> bool:
        return bool(self._row)

    @property
    def oldest_time(self) -> float:
        """When the oldest was offered. This and the next only while something waits."""
        return cast("float", self._row[1][0])

    @property
    def oldest_number(self) -> int:
        """The number of the oldest."""
        return cast("int", self._row[2])

    def take(self, most: int, most_bytes: int) -> tuple[list[bytes], list[float], list[range], int]:
        """The oldest, at least one if any waits: records, times, numbers, and the bytes of all."""
        records: list[bytes] = []
        times: list[float] = []
        numbers: list[range] = []
        left = most_bytes
        while self._row and len(records) < most:
            group, offered_at, first, size = next(self._oldest)
            if len(group) > most - len(records) or size > left:
                fits, fitting = _fitting([*map(len, group)], most - len(records), left, is_first=not records)
                if fits < len(group):
                    self._row.extendleft((size - fitting, first + fits, offered_at[fits:], group[fits:]))
                    most = len(records) + fits
                    if not fits:
                        break
                group, offered_at, size = group[:fits], offered_at[:fits], fitting
            records += group
            times += offered_at
            numbers.append(range(first, first + len(group)))
            left -= size
        return records, times, numbers, most_bytes - left

    def take_one(self) -> bytes:
        """The oldest."""
        return self.take(1, 0)[0][0]

    def put_back(self, records: Sequence[bytes], times: Sequence[float], numbers: Sequence[range]) -> None:
        """Put records to the head, each of them behind those that are older still."""
        each = zip(records, times, chain.from_iterable(numbers), strict=True)
        head: list[Group] = []
        for record, at, number in each:
            # older ones came back before, perhaps a part of what was between these
            while self._row and self._row[2] < number:
                head.append(next(self._oldest))
            head.append(([record], [at], number, len(record)))
        for group in reversed(head):
            self._row.extendleft(reversed(group))


def _fitting(sizes: list[int], most: int, most_bytes: int, *, is_first: bool) -> tuple[int, int]:
    """How many of these fit, and their bytes; the first of all always does."""
    count = size = 0
    while count < min(len(sizes), most) and (size + sizes[count] <= most_bytes or (is_first and not count)):
        size += sizes[count]
        count += 1
    return count, size
