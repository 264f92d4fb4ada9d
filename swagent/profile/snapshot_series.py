"""The snapshots of one profiled request, and their numbers.

The collector takes it that a task stays where it is between two snapshots whose numbers follow each other, and drops a
snapshot whose number it has seen already, be it in another segment that it analyses together with this one. So:

* each segment numbers in a range of its own;
* the snapshots of one task are numbered one after the other, whatever the request's other tasks do meanwhile: they are
  kept back until there are enough of them. One number is left out between two tasks.

It lists the segments that have a snapshot of number 0. So each segment gets one, dated before its begin: an analysis of
the request's time does not look there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

from ..record.snapshot import ProfileSnapshot

RANGE = 100_000
# Numbers are of 32 bits.
_RANGES = 2**31 // RANGE - 1
_KEPT_BACK = 256
# By chance, since several instances of a service number on their own.
_ranges = itertools.count(int.from_bytes(os.urandom(4), "big") % _RANGES)


class SnapshotSeries:
    """Used by the sampler's thread alone."""

    def __init__(
        self, task_id: str, segment_id: str, began: int, name: str, offer: Callable[[ProfileSnapshot], object]
    ) -> None:
        """
        :param began: the request's begin, in milliseconds since the epoch
        :param name: of the operation
        """
        self.name = name
        self._task_id = task_id
        self._segment_id = segment_id
        self._began = began
        self._offer = offer
        self._first = self._next = (1 + next(_ranges) % _RANGES) * RANGE
        self._pending: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        self._seen: set[int] = set()
        self._last: int | None = None
        self._is_listed = False

    def add(self, key: int, time: int, stack: tuple[str, ...]) -> None:
        """Take in where a task or thread is.

        :param key: which one
        :param time: in milliseconds since the epoch
        """
        self._seen.add(key)
        self._pending.setdefault(key, []).append((time, stack))

    def end_round(self) -> None:
        """All tasks and threads of this moment have been added: one that is missing has ended."""
        for key in [key for key in self._pending if key not in self._seen]:
            self._send(key)
            del self._pending[key]
        self._seen.clear()
        if sum(map(len, self._pending.values())) >= _KEPT_BACK:
            self.flush()

    def flush(self) -> None:
        """Send what is kept back."""
        for key in self._pending:
            self._send(key)

    def _send(self, key: int) -> None:
        pending = self._pending[key]
        if key != self._last:
            self._last = key
            self._next += 1
        for time, stack in pending:
            if self._next >= self._first + RANGE:
                break
            if not self._is_listed:
                self._is_listed = True
                self._offer(ProfileSnapshot(self._task_id, self._segment_id, self._began - 1, 0, stack))
            self._offer(ProfileSnapshot(self._task_id, self._segment_id, time, self._next, stack))
            self._next += 1
        pending.clear()
