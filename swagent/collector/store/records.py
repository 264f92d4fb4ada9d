"""The records that the collector keeps: plain values, free of any wire format.

Those of traces are in `trace_records`, with the words on names, times and tags that hold here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .trace_records import Pairs, Segment


@dataclass(frozen=True, slots=True)
class LogLine:
    """One log line; the trace fields are empty where it was written outside of any span."""

    timestamp: int
    service: str
    instance: str
    endpoint: str
    content_type: str
    content: str
    tags: Pairs
    layer: str
    trace_id: str = ""
    segment_id: str = ""
    span_id: int = 0


@dataclass(frozen=True, slots=True)
class Meter:
    """One series at one moment: `value`, or for a histogram `buckets` of lower bound and count."""

    service: str
    instance: str
    name: str
    labels: Pairs
    timestamp: int
    value: float | None = None
    buckets: tuple[tuple[float, int], ...] | None = None

    @property
    def series(self) -> tuple[str, str, str, Pairs]:
        """The series of this value."""
        return self.service, self.instance, self.name, self.labels


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that an instance reports when it starts."""

    service: str
    instance: str
    properties: Pairs
    layer: str


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """An instance's sign of life."""

    service: str
    instance: str
    layer: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance: `last_seen` in seconds since the epoch, by the collector's clock."""

    service: str
    instance: str
    layer: str
    last_seen: float
    properties: Pairs = ()
    keep_alives: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """One report about an event; its end is reported with the same uuid as its start."""

    uuid: str
    service: str
    instance: str
    endpoint: str
    name: str
    kind: str
    message: str
    parameters: Mapping[str, str]
    start_time: int
    end_time: int
    layer: str

    @property
    def source(self) -> tuple[str, str]:
        """The instance that it is about."""
        return self.service, self.instance


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """A thread's stack at one moment of a profiled segment, outermost call first."""

    task_id: str
    segment_id: str
    time: int
    sequence: int
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileFinish:
    """An instance ended a profile task."""

    service: str
    instance: str
    task_id: str


@dataclass(frozen=True, slots=True)
class ProfileData:
    """A piece of a profile in pprof's format, as Go agents send it; only its size is kept."""

    task_id: str
    size: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class AttachedEvent:
    """An event that belongs to a span reported elsewhere; times in nanoseconds since the epoch."""

    name: str
    trace_id: str
    segment_id: str
    span_id: str
    start_time: int
    end_time: int
    tags: Pairs
    summary: tuple[tuple[str, int], ...]


Record = (
    Segment
    | LogLine
    | Meter
    | Properties
    | KeepAlive
    | Event
    | ThreadSnapshot
    | ProfileFinish
    | ProfileData
    | AttachedEvent
)
