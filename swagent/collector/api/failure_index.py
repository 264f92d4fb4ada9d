"""All failures that are kept: each segment is read once, by the first query after it came.

So the intake has nothing to do for it, and a query reads only the segments that are new since the one before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict

from ..store.store import Store
from .failures import Failure, Group, failures
from .pieces import pieces

MOST = 50_000
"""Failures that are remembered, the newest."""
_FAILED = "SELECT id FROM segments WHERE id > :low AND id <= :high AND errors > 0"


class FailureIndex:
    """The failures of the segments that are kept, in the order in which they came. One thread at a time may read it.

    :ivar dropped: how many there were beside them, because there are too many
    """

    def __init__(self, store: Store) -> None:
        self.dropped = 0
        self._store = store
        self._found: list[Failure] = []
        self._groups: dict[Group, Group] = {}
        self._callers: OrderedDict[str, int] = OrderedDict()  # with the number of the segment that names it
        self._last = 0

    def read(self) -> list[Failure]:
        """Look through what has come since the last time; returns all that began where they were recorded, the oldest
        first. One that only came through from a service that was called counts there.

        :raises StoreError: when the store cannot be read
        """
        return self.read_both()[0]

    def read_both(self) -> tuple[list[Failure], list[Failure]]:
        """The same, and those that came through."""
        for piece in pieces(self._store, "segments", self._last):
            for (number,) in self._store.read(_FAILED, piece):
                self._read_segment(number)
            self._last = piece["high"]
        self._forget(self._store.numbers("segments")[0])
        own: list[Failure] = []
        through: list[Failure] = []
        callers = self._callers
        for each in self._found:
            (through if any(call in callers for call in each.calls) else own).append(each)
        return own, through

    def _read_segment(self, number: int) -> None:
        segment = self._store.segment(number)
        if segment is not None:  # else it has fallen out meanwhile
            failed = failures(number, segment)
            for each in failed.failures:
                self._found.append(each._replace(group=self._groups.setdefault(each.group, each.group)))
            self._callers.update(dict.fromkeys(failed.callers, number))
        if max(len(self._found), len(self._callers)) > 2 * MOST:
            self._forget(0)

    def _forget(self, lowest: int) -> None:
        """Drop what has fallen out of the store, and the oldest of too many."""
        gone = bisect_right(self._found, lowest, key=lambda each: each.number)
        many = max(len(self._found) - MOST, gone)
        if many:
            self.dropped += many - gone
            del self._found[:many]
        while self._callers and (len(self._callers) > MOST or next(iter(self._callers.values())) <= lowest):
            self._callers.popitem(last=False)
        if len(self._groups) > MOST:
            self._groups = {each.group: each.group for each in self._found}
