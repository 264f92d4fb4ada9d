"""The active span of each task and thread, on one context variable.

What the variable holds is the span entered last in this context; what counts as active is found by looking:

* A span that has ended is stepped over, so a context copied by a task that outlives its request cannot revive it.
* A span entered inside a generator counts only while that generator runs. A generator shares its caller's context,
  so a plain variable would leak the span to the consumer at each `yield`. The suspended frame tells: it has no caller
  (`f_back is None`).

Resetting by token would raise when a span ends in another context than it began in; setting back never does.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import FrameType
from typing import Any, Protocol


class Active(Protocol):
    """What can stand in the variable: a span, or a snapshot carried over from another thread."""

    @property
    def ended(self) -> bool:
        """Whether it is past; a past one can be continued, not joined."""
        ...

    @property
    def frame(self) -> FrameType | None:
        """The generator frame that it was entered in, if it was."""
        ...

    @property
    def previous(self) -> Any:
        """What was active before it."""
        ...


current: ContextVar[Any] = ContextVar("swagent_span", default=None)


def innermost_live(entry: Any) -> Any:
    """The nearest span, from `entry` outwards, that is still open and not shut in a suspended generator."""
    while entry is not None and (entry.ended or (entry.frame is not None and entry.frame.f_back is None)):
        entry = entry.previous
    return entry


def not_ended(entry: Any) -> Any:
    """The nearest entry, from `entry` outwards, that is still open, be it shut in a suspended generator."""
    while entry is not None and entry.ended:
        entry = entry.previous
    return entry
