"""The store: a bounded memory of what arrived.

Intake adds, queries read, both in any thread: one lock guards everything, and queries give copies.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar, cast

from .arrivals import Arrivals, Listener
from .counts import SIGNALS, Statistics
from .records import Instance, KeepAlive, LogLine, Meter, Properties, Record
from .shelf import Shelf
from .trace_records import Pairs, Segment

MAX_RECORDS = 20_000
# Ids are remembered longer than the segments themselves, so that a late duplicate is still recognised.
REMEMBERED_IDS = 5
R = TypeVar("R", bound=Record)


class Store:
    """Keeps the newest records of each signal. Any thread, any event loop."""

    def __init__(self, max_segments: int = MAX_RECORDS, max_records: int = MAX_RECORDS) -> None:
        """Make an empty store.

        :param max_segments: how many segments are kept
        :param max_records: how many of each other signal's records, meter series, instances, services are kept
        :raises ValueError: when a bound is less than one
        """
        self._lock = threading.RLock()
        self._arrivals = Arrivals(self._lock)
        self._received: Counter[str] = Counter()
        self._duplicates = 0
        self._segments = Shelf[str, Segment](max_segments)
        self._known_ids = Shelf[str, None](max_segments * REMEMBERED_IDS)
        self._traces: dict[str, dict[str, Segment]] = {}
        self._meters = Shelf[tuple[str, str, str, Pairs], Meter](max_records)
        self._instances = Shelf[tuple[str, str], Instance](max_records)
        self._services = Shelf[str, None](max_records)
        self._others: dict[type, Shelf[int, Record]] = {kind: Shelf(max_records) for kind in SIGNALS}

    def add(self, record: Record) -> None:
        """Take a record in, evicting the oldest of its signal when full. Does not wait."""
        with self._lock:
            self._received[SIGNALS[type(record)]] += 1
            if service := getattr(record, "service", ""):
                self._services.put(service, None)
            self._keep(record)
        self._arrivals.announce(record)

    def _keep(self, record: Record) -> None:
        if isinstance(record, Segment):
            self._keep_segment(record)
        elif isinstance(record, Meter):
            self._meters.put(record.series, record)
        elif isinstance(record, (Properties, KeepAlive)):
            self._meet(record)
        else:
            kind = type(record)
            self._others[kind].put(self._received[SIGNALS[kind]], record)

    def _keep_segment(self, segment: Segment) -> None:
        if segment.segment_id in self._known_ids:
            self._duplicates += 1
            return
        self._known_ids.put(segment.segment_id, None)
        self._traces.setdefault(segment.trace_id, {})[segment.segment_id] = segment
        gone = self._segments.put(segment.segment_id, segment)
        if gone is not None:
            siblings = self._traces[gone.trace_id]
            del siblings[gone.segment_id]
            if not siblings:
                del self._traces[gone.trace_id]

    def _meet(self, record: Properties | KeepAlive) -> None:
        key = record.service, record.instance
        known = self._instances.get(key)
        properties, keep_alives = (known.properties, known.keep_alives) if known else ((), 0)
        if isinstance(record, Properties):
            properties = record.properties
        else:
            keep_alives += 1
        self._instances.put(key, Instance(*key, record.layer, time.time(), properties, keep_alives))

    async def wait_for(self, condition: Callable[[Store], bool], timeout: float = 5.0) -> None:
        """Wait until `condition(store)` holds; it is looked at now and after arrivals, under the store's lock.
        asyncio or trio, any thread. Cancelled, it leaves nothing behind.

        :raises TimeoutError: when it does not hold within `timeout` seconds; says what has been received
        """
        if not await self._arrivals.wait_until(lambda: condition(self), timeout):
            raise TimeoutError(f"did not arrive within {timeout} s; received: {self.statistics()}")

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(record)` called after each arrival, in the intake's thread; it must not wait or raise.
        Returns a function that ends the subscription."""
        return self._arrivals.subscribe(listener)

    def statistics(self) -> Statistics:
        """What was received, duplicated and evicted so far."""
        with self._lock:
            evicted = Counter({SIGNALS[kind]: shelf.evicted for kind, shelf in self._others.items()})
            evicted.update(segments=self._segments.evicted, meters=self._meters.evicted)
            services = tuple(sorted(self._services.keys()))
            return Statistics(self._received.copy(), self._duplicates, +evicted, services)

    @property
    def segments(self) -> list[Segment]:
        """Every segment kept, oldest first."""
        with self._lock:
            return self._segments.values()

    @property
    def trace_ids(self) -> list[str]:
        """The traces of which a segment is kept, in order of their first arrival."""
        with self._lock:
            return list(self._traces)

    def trace(self, trace_id: str) -> list[Segment]:
        """The segments kept of one trace, in order of arrival; maybe none."""
        with self._lock:
            return list(self._traces.get(trace_id, {}).values())

    @property
    def logs(self) -> list[LogLine]:
        """Every log line kept, oldest first."""
        return self.records(LogLine)

    @property
    def meters(self) -> list[Meter]:
        """The latest value of each series."""
        with self._lock:
            return self._meters.values()

    @property
    def instances(self) -> list[Instance]:
        """The instances heard from through properties or keep-alives."""
        with self._lock:
            return self._instances.values()

    def records(self, kind: type[R]) -> list[R]:
        """The records kept of another kind (`LogLine`, `Event`, `Snapshot`, ...), oldest first."""
        with self._lock:
            return cast("list[R]", self._others[kind].values())
