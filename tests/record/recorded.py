"""The spans that a test records: the finished segments, in the order in which they finished."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from swagent import local_span
from swagent.record.trace import tracer as tracers
from swagent.record.trace.carrier import Carrier, parse_sw8
from swagent.record.trace.context import current
from swagent.record.trace.model import Reference, SpanRecord
from swagent.record.trace.segment import Segment
from swagent.record.trace.tracer import Tracer

SERVICE = "shop"
INSTANCE = "shop-1"


class Finished(NamedTuple):
    """A segment as it was handed on; the tracer takes the original apart."""

    id: str
    trace_id: str
    spans: list[SpanRecord]
    limited: bool
    correlation: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The spans' names, in the order in which they started."""
        return [span.name for span in sorted(self.spans, key=lambda span: span.id)]


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Recorder:
    """Takes finished segments as a running agent does."""

    def __init__(self, **settings: Any) -> None:
        self.segments: list[Finished] = []
        self.tracer = Tracer(SERVICE, INSTANCE, self._take, **settings)

    def _take(self, segment: Segment) -> None:
        spans = list(segment.spans)
        correlation = dict(segment.correlation)
        self.segments.append(Finished(segment.id, segment.trace_id, spans, segment.limited, correlation))

    @property
    def only(self) -> Finished:
        """The one segment that was recorded."""
        (segment,) = self.segments
        return segment

    @property
    def names(self) -> list[list[str]]:
        """Each segment's names."""
        return [segment.names for segment in self.segments]

    def of(self, name: str) -> Finished:
        """The one segment that holds a span of this name."""
        (segment,) = (segment for segment in self.segments if name in segment.names)
        return segment

    def span(self, name: str) -> SpanRecord:
        """The one span of this name."""
        (span,) = (span for segment in self.segments for span in segment.spans if span.name == name)
        return span

    def reference(self, name: str) -> Reference:
        """The one reference of the span of this name."""
        (reference,) = self.span(name).refs
        return reference

    def parent_of(self, name: str) -> str | None:
        """The name of a span's parent; None for the first span of a segment."""
        by_id = {span.id: span.name for span in self.of(name).spans}
        return by_id.get(self.span(name).parent_id)


@contextmanager
def recording(**settings: Any) -> Iterator[Recorder]:
    """Let spans be recorded, in a context where none is active yet.

    :param settings: of the tracer
    """
    recorder = Recorder(**settings)
    current.set(None)
    tracers.install(recorder.tracer)
    try:
        yield recorder
    finally:
        tracers.uninstall(recorder.tracer)
        current.set(None)


def work(name: str = "work") -> None:
    """Record a span."""
    with local_span(name):
        pass


def in_a_thread(function: Callable[[], object]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def carrier_of(headers: Mapping[str, str]) -> Carrier:
    """What a peer reads in the headers of a call."""
    carrier = parse_sw8(headers["sw8"])
    assert carrier is not None
    return carrier
