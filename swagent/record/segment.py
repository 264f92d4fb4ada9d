"""A segment: this process's part of a trace, made of the spans of one request or one unit of work.

It opens with its first span and is finished when the last open one ends. Spans may be opened and ended by several tasks
and threads that share a context; the tracer's lock keeps the count. What comes after the finish opens a segment of
its own that refers back (see `span.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .ids import new_id

if TYPE_CHECKING:
    from .span import Span
    from .tracer import Tracer

    Finished = tuple["Segment", Sequence[Span]]
    """A segment that is to be encoded, and its spans."""


class SpanKind(enum.IntEnum):
    """SpanType on the wire."""

    ENTRY = 0
    EXIT = 1
    LOCAL = 2


class RefKind(enum.IntEnum):
    """RefType on the wire."""

    CROSS_PROCESS = 0
    CROSS_THREAD = 1


class Layer(enum.IntEnum):
    """SpanLayer on the wire."""

    UNKNOWN = 0
    DATABASE = 1
    RPC_FRAMEWORK = 2
    HTTP = 3
    MQ = 4
    CACHE = 5
    FAAS = 6


class Component(enum.IntEnum):
    """The libraries that spans name, by their ids in the collector's catalogue (component-libraries.yml)."""

    UNKNOWN = 0
    PYTHON = 7000
    FASTAPI = 7014
    HTTPX = 7019


class Reference(NamedTuple):
    """Where a segment continues from."""

    kind: RefKind
    trace_id: str
    segment_id: str
    span_id: int
    service: str
    instance: str
    endpoint: str
    address: str


_NOTHING: Mapping[str, str] = {}


class Segment:
    """An open segment; its tracer takes it once it is finished."""

    __slots__ = ("_count", "_endpoint", "_open", "_root", "correlation", "finished", "id", "limited",
                 "spans", "trace_id", "tracer")  # fmt: skip

    def __init__(self, tracer: Tracer, root: Span, trace_id: str | None = None, segment_id: str | None = None) -> None:
        """:param trace_id: of the trace that it continues; it begins one when left out"""
        self.tracer = tracer
        self.id = segment_id or new_id()
        self.trace_id = trace_id or new_id()
        self.spans: list[Span] = []
        self.correlation = _NOTHING
        """Replaced when it changes, never changed: another thread may be writing it into headers."""
        self.limited = False
        self.finished = False
        self._root: Span | None = root
        self._endpoint = ""
        # the root is in, as number 0: nobody else knows of the segment yet, so that needs no lock
        self._count = 1
        self._open = 1

    @property
    def endpoint(self) -> str:
        """The operation that this segment serves."""
        root = self._root
        return self._endpoint if root is None else root.name_now()

    def join(self, span: Span, parent_id: int) -> bool:
        """Take a span in and number it. False: the segment is finished already, or it is full (`span.id` stays
        below zero then and `limited` tells)."""
        with self.tracer.lock:
            if self.finished:
                return False
            if self._count >= self.tracer.span_limit:
                self.limited = True
                return False
            span.id = self._count
            span.parent_id = parent_id
            self._count += 1
            self._open += 1
            return True

    def leave(self, span: Span, end_time: float) -> None:
        """End a span, unless it has ended; the last one to leave finishes the segment."""
        with self.tracer.lock:
            # two threads, or a signal handler and the code that it broke into, may stop one span at the same time
            if span.ended:
                return
            span.end_time = end_time
            span.ended = True
            self.spans.append(span)
            self._open -= 1
            if self._open or self.finished:
                return
            self.finished = True
        self.tracer.finish(self)

    def take_apart(self) -> None:
        """Let go of the spans once they are recorded. What later segments say about this one stays."""
        if self._root is not None:
            self._endpoint = self._root.name
        self._root = None
        self.spans = []
