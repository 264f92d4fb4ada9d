"""Carrying the context into a thread by hand.

`asyncio.to_thread` and anyio's `to_thread` copy the context by themselves. A thread pool or a bare thread does not:
`capture()` there, and `with snapshot:` here. Code under the snapshot opens a segment of its own that refers back,
since the captured one may be finished by then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from .context import Active, active_span, current, outer, switch
from .model import Origin, Reference, SpanKind, origin_of
from .segment import Segment

if TYPE_CHECKING:
    from typing_extensions import Self

    from .span import Span


class ContextSnapshot:
    """The context of one moment. May be entered in any thread and task, any number of times, also at once."""

    ended = True
    kind = SpanKind.LOCAL
    previous: Active[Span] | None = None
    frame: FrameType | None = None

    def __init__(self, span: Span | None) -> None:
        self.segment: Segment | None = span.segment if span is not None else None
        self._reference = span.reference() if span is not None else None
        # under a span that is not recorded nothing else is, as long as it lasts
        self._unrecorded = span if self.segment is None else None

    @property
    def is_recorded(self) -> bool:
        """Whether the trace is."""
        return self.segment is not None

    def age(self) -> float:
        """None: it was captured on purpose, and does not grow old."""
        return -math.inf

    def carried(self) -> Mapping[str, str]:
        """The correlation that travels with the trace."""
        return self.segment.correlation if self.segment is not None else {}

    def reference(self) -> Reference | None:
        """The reference of a segment that is opened under this snapshot."""
        return self._reference

    @property
    def trace_id(self) -> str:
        """The trace's id; empty when the trace is not recorded."""
        return self.segment.trace_id if self.segment is not None else ""

    def find_trace_id(self) -> str:
        """As `trace_id`."""
        return self.trace_id

    def note_origin(self) -> Origin | None:
        """The origin of a log record that is logged under this snapshot; None when the trace is not recorded."""
        return origin_of(self._reference)

    def to_span(self) -> None:
        """None: it is past."""

    def __enter__(self) -> Self:
        around = current.get()
        switch(outer, (around, outer.get()))
        switch(current, self if self.segment is not None else self._unrecorded or around)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        entered = outer.get()
        if entered is not None:
            switch(current, entered[0])
            switch(outer, entered[1])


def capture() -> ContextSnapshot:
    """Take a snapshot of the active span. Without one, the snapshot is empty and entering it has no effect."""
    entry: Active[Span] | None = active_span(current.get())
    return ContextSnapshot(entry.to_span() if entry is not None else None)
