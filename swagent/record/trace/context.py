"""The active span of each task and thread, on one context variable.

The variable holds the span entered last in this context. The active span is found by these rules:

* A span that has ended is stepped over, so a context copied by a task that outlives its request cannot revive it.
* The search ends at an entry span that has ended: what its request left behind is no part of what was open around the
  request, such as the call of a client in the same process. It continues the request, by a reference.
* A span entered inside a generator counts only while that generator runs. A generator shares its caller's context,
  so a plain variable would leak the span to the consumer at each `yield`. The suspended frame shows that: it has no
  caller (`f_back is None`).

Resetting by token would raise when a span ends in another context than it began in; setting back never does.

Before 3.12, CPython may collect garbage while it sets a context variable or copies a context, and crashes when a
finaliser sets a variable then. So `switch` sets none while its thread collects: a finaliser's spans are recorded, but
not active. PyPy does not crash.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from types import FrameType
from typing import Any, Protocol, TypeVar, cast

from ...forks import at_fork
from ...thread_frames import caller_of
from .model import Origin, PendingOrigin, Reference, SpanKind

T = TypeVar("T")
SpanT = TypeVar("SpanT")
SpanT_co = TypeVar("SpanT_co", covariant=True)

_ENTRY = SpanKind.ENTRY


class Active(Protocol[SpanT_co]):
    """The objects that the variable can hold: a span, a request that may become one, or a snapshot carried over from
    another thread. The type of a span is a parameter, since spans are built on this module."""

    @property
    def ended(self) -> bool:
        """Whether it is past; a past one can be continued, not joined."""
        ...

    @property
    def kind(self) -> SpanKind:
        """Whether it is a request, and so begins a segment of its own."""
        ...

    @property
    def frame(self) -> FrameType | None:
        """The generator frame that it was entered in, if it was."""
        ...

    @property
    def previous(self) -> Active[SpanT_co] | None:
        """The entry that was active before it."""
        ...

    @property
    def is_recorded(self) -> bool:
        """Whether its trace is."""
        ...

    def age(self) -> float:
        """Seconds since it ended; minus infinity: it does not grow old."""
        ...

    def reference(self) -> Reference | None:
        """How another segment of this process refers to it; None when the trace is not recorded."""
        ...

    @property
    def trace_id(self) -> str:
        """The trace's id; empty when the trace is not recorded."""
        ...

    def find_trace_id(self) -> str:
        """As `trace_id`."""
        ...

    def note_origin(self) -> Origin | PendingOrigin | None:
        """The origin of a log record that is logged here, or a request that can give it later; None when the trace is
        not recorded."""
        ...

    def carried(self) -> Mapping[str, str]:
        """The correlation that travels with its trace."""
        ...

    def to_span(self) -> SpanT_co | None:
        """Its span, which a request without one makes now; None: it is past, and never had one."""
        ...


class _Switch(Protocol):
    def __call__(self, variable: ContextVar[T], value: T, /) -> object: ...


current: ContextVar[Active[Any] | None] = ContextVar("swagent_span", default=None)
# The entry that was active around each snapshot entered in this context, the last one first. Not kept in the snapshot
# itself, which several threads of a pool may have entered.
outer: ContextVar[tuple[Active[Any] | None, Any] | None] = ContextVar("swagent_outer", default=None)


class _Collection:
    """Which thread collects garbage now. Only one at a time does."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread = 0

    def note(self, phase: str, _: object) -> None:
        self.thread = threading.get_ident() if phase == "start" else 0

    def switch(self, variable: ContextVar[T], value: T, /) -> None:
        if not self.thread or self.thread != threading.get_ident():
            variable.set(value)


collection = _Collection()
"""Whose thread is 0 wherever a variable may be set. From Python 3.12 on it always is."""
switch: _Switch = cast("Any", ContextVar).set
"""Set a variable of this context."""
if sys.version_info < (3, 12) and hasattr(gc, "callbacks"):
    gc.callbacks.append(collection.note)
    switch = collection.switch


def _leave_spans_to_parent() -> None:
    """In a forked child: the open spans belong to the parent, and a span that begins here joins none of their segments.
    If another thread was collecting garbage at the fork, it does not exist here and never ends that."""
    current.set(None)
    outer.set(None)
    collection.thread = 0


at_fork(after_in_child=_leave_spans_to_parent)


def active_span(entry: Active[SpanT] | None) -> Active[SpanT] | None:
    """The nearest span, from `entry` outwards, that is still open and not inside a suspended generator. The search ends
    at the first request that has ended."""
    while entry is not None:
        if entry.ended:
            if entry.kind is _ENTRY:
                return None
        elif entry.frame is None or caller_of(entry.frame) is not None:
            return entry
        entry = entry.previous
    return None


def nearest_open(entry: Active[SpanT] | None) -> Active[SpanT] | None:
    """The nearest entry, from `entry` outwards, that is still open, even inside a suspended generator; or a request
    that has ended, if that comes first. This entry is active again when a span ends. When a request ends, the entry
    around the request is."""
    request: Active[SpanT] | None = None
    while entry is not None and entry.ended:
        if request is None and entry.kind is _ENTRY:
            request = entry
        entry = entry.previous
    return entry if entry is None or request is None else request
