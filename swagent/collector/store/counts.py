"""The store's counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from . import records
from .trace_records import Segment

SIGNALS: Mapping[type[records.Record], str] = {
    Segment: "segments",
    records.LogLine: "logs",
    records.Meter: "meters",
    records.Properties: "properties",
    records.KeepAlive: "keep_alives",
    records.Event: "events",
    records.ThreadSnapshot: "snapshots",
    records.ProfileFinish: "profile_finishes",
    records.ProfileData: "profile_data",
    records.AttachedEvent: "attached_events",
}
_MAIN = ("segments", "logs", "meters")


@dataclass(frozen=True)
class Statistics:
    """The numbers of records that a store got and kept, at one instant.

    :ivar received: records by signal since the store was made, duplicates and evicted ones included
    :ivar duplicates: segments whose id had been received before; the first one is kept
    :ivar evicted: records by signal that fell out because the store was full
    :ivar services: names of the services heard from, sorted
    """

    received: Counter[str]
    duplicates: int
    evicted: Counter[str]
    services: tuple[str, ...]

    def __str__(self) -> str:
        """One sentence, such as `12 segments (1 duplicate), 3 logs, 0 meters; 1 service: shop`."""
        others = sorted(signal for signal in self.received if signal not in _MAIN)
        counts = ", ".join(self._count(signal) for signal in (*_MAIN, *others))
        services = _plural(len(self.services), "service")
        return f"{counts}; {services}{': ' if self.services else ''}{', '.join(self.services)}"

    def _count(self, signal: str) -> str:
        remarks: list[str] = []
        if signal == "segments":
            remarks.append(_plural(self.duplicates, "duplicate"))
        if self.evicted[signal]:
            remarks.append(f"{self.evicted[signal]:,} evicted")
        number = self.received[signal]
        text = _plural(number, signal[:-1]) if signal in _MAIN else f"{number:,} {signal.replace('_', ' ')}"
        return f"{text} ({', '.join(remarks)})" if remarks else text


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
