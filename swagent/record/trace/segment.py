"""A segment: this process's part of a trace, made of the spans of one request or one unit of work.

It opens with its first span and is finished when the last open one ends. Spans may be opened and ended by several tasks
and threads that share a context; the tracer's lock keeps the count. What comes after the finish opens a segment of
its own that refers back (see `span.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from .ids import new_id
from .model import SpanRecord
from .tracer import Tracer

_NOTHING: Mapping[str, str] = {}


class Segment:
    """An open segment; its tracer takes it once it is finished."""

    __slots__ = ("_count", "_endpoint", "_open", "_root", "correlation", "finished", "id", "limited",
                 "spans", "trace_id", "tracer")  # fmt: skip

    def __init__(
        self, tracer: Tracer, root: SpanRecord, trace_id: str | None = None, segment_id: str | None = None
    ) -> None:
        """:param trace_id: of the trace that it continues; it begins one when left out"""
        self.tracer = tracer
        self.id = segment_id or new_id()
        self.trace_id = trace_id or new_id()
        self.spans: list[SpanRecord] = []
        self.correlation = _NOTHING
        """Replaced when it changes, never changed: another thread may be writing it into headers."""
        self.limited = False
        self.finished = False
        self._root: SpanRecord | None = root
        self._endpoint = ""
        # the root is in, as number 0: nobody else knows of the segment yet, so that needs no lock
        self._count = 1
        self._open = 1

    @property
    def endpoint(self) -> str:
        """The operation that this segment serves."""
        root = self._root
        return self._endpoint if root is None else root.name_now()

    def join(self, span: SpanRecord, parent_id: int) -> bool:
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

    def leave(self, span: SpanRecord, end_time: float) -> None:
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
