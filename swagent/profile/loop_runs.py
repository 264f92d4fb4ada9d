"""The event loops that begin while a span is active: one for each item where `asyncio.run` is called for each.

A loop of its own costs little. But no connection of a client outlives the loop in which it was opened, so each of these
calls opens another one. The span that is active where the loops begin has their number in the tag `loop.runs`, from the
second one on, and a span log with the place in the code.

`asyncio.Runner` is looked at, which `asyncio.run`, `anyio.run` and `uvloop.run` use; on Python 3.10, which has none,
`asyncio.events.new_event_loop`. Code that begins no loop pays nothing.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ..agent_log import RateLimitedLog
from ..forks import at_fork
from ..inspection.frames import outer_frame
from ..record.logs.patch import Patch
from ..record.suppression import suppress_instrumentation
from ..record.trace.context import active_span, current
from ..record.trace.span import Span
from .blocked_loop import place_of

RUNS = "loop.runs"
_limited = RateLimitedLog()
_lock = threading.RLock()
_LONGEST_WAIT = 0.1  # seconds
_runs: WeakKeyDictionary[Span, int] = WeakKeyDictionary()


class LoopRuns:
    """Counts the loops that begin, from `attach()` to `detach()`; both belong to one thread at a time."""

    def __init__(self) -> None:
        owner: Any = getattr(asyncio, "Runner", asyncio.events)
        name = "new_event_loop" if sys.version_info < (3, 11) else "__enter__"
        self._patch = Patch(owner, name, _wrap)

    def attach(self) -> None:
        """Count from now on. A second call does nothing."""
        self._patch.apply()

    def detach(self) -> None:
        """Count no more. A second call does nothing."""
        self._patch.remove()


def _wrap(patch: Patch) -> Callable[..., object]:
    def begin_loop(*args: object, **kwargs: object) -> object:
        if patch.is_active:
            _note()
        return patch.original(*args, **kwargs)

    return begin_loop


def _note() -> None:
    """Count a loop for the active span, if that is recorded. Never raises."""
    try:
        entry = active_span(current.get()) if not suppress_instrumentation.get() else None
        span: Span | None = entry.to_span() if entry is not None else None
        if span is None or not span.is_recorded:
            return
        # several threads may work for one request; a signal's handler may begin a loop amid this
        if not _lock.acquire(timeout=_LONGEST_WAIT):
            return
        try:
            runs = _runs[span] = _runs.get(span, 0) + 1
            if runs > 1:
                _tag(span, runs)
        finally:
            _lock.release()
    except Exception as error:  # noqa: BLE001, RUF100  (ours, and it costs the application no loop)
        _limited.warn("loop runs", "a new event loop could not be counted: %r", error)


def _forget_lock() -> None:
    """Another thread of the parent may have had it."""
    global _lock  # noqa: PLW0603, RUF100
    _lock = threading.RLock()


at_fork(after_in_child=_forget_lock)


def _tag(span: Span, runs: int) -> None:
    for number, (name, _) in enumerate(span.tags):
        if name == RUNS:
            span.tags[number] = (RUNS, str(runs))
            return
    place = place_of(outer_frame())
    span.tag(RUNS, str(runs))
    span.log(event=RUNS, frame=place.frame, stack=place.stack)
