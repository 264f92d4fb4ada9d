"""Where most of the time of listed traces went. What is known of a trace is kept until more of it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from ..cancelling import stop_if_cancelled
from ..findings.joining import joined
from ..findings.mostly import mostly
from ..store.bounded_map import BoundedMap
from ..store.store import Store

Answer = dict[str, Any]
MOST_SPANS = 500
"""Spans of a trace that is looked at: of a larger one it would take too long."""
_SECONDS = 0.1
"""Processor time that one answer takes for traces that are not known yet; the next one goes on with the others."""
_MOST_KEPT = 5000
_NUMBERS = "SELECT trace, id, spans FROM segments WHERE trace IN ({}) ORDER BY id"


class MostlyIndex:
    """What is known of traces. One query at a time."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.thread_time) -> None:
        """:param clock: seconds of processor time"""
        self._store = store
        self._clock = clock
        self._known: BoundedMap[str, tuple[tuple[int, ...], Answer | None]] = BoundedMap(_MOST_KEPT)

    def of(self, traces: Iterable[str], seconds: float = _SECONDS) -> dict[str, Answer | None]:
        """Where most of the time of each went, of those that are known now.

        :param seconds: of processor time for those that are not known yet
        :raises StoreError: when the store cannot be read
        """
        wanted = list(traces)
        numbers: dict[str, list[int]] = {}
        spans: dict[str, int] = {}
        for trace, number, count in self._store.read(_NUMBERS.format(", ".join("?" * len(wanted))), wanted):
            numbers.setdefault(trace, []).append(number)
            spans[trace] = spans.get(trace, 0) + count
        until = self._clock() + seconds
        found: dict[str, Answer | None] = {}
        for trace in filter(numbers.__contains__, wanted):
            version, kept = tuple(numbers[trace]), self._known.get(trace)
            if kept is not None and kept[0] == version:
                found[trace] = kept[1]
            elif self._clock() < until:
                stop_if_cancelled()
                found[trace] = self._look(version) if spans[trace] <= MOST_SPANS else None
                self._known.put(trace, (version, found[trace]))
        return found

    def _look(self, numbers: Iterable[int]) -> Answer | None:
        segments = [segment for segment in map(self._store.segment, numbers) if segment is not None]
        trace = joined(segments, MOST_SPANS)
        answer = mostly(trace) if trace is not None else None
        return None if answer is None else answer._asdict()
