"""Where a log record comes from: the active trace, and the running task."""

from __future__ import annotations

import sys

from ..limits import as_text
from ..trace.context import active_span, current
from ..trace.model import Origin

NO_TRACE = "N/A"


NOWHERE: Origin = ("", "", "", -1)


def origin() -> Origin:
    """The active span's place. A trace that is not recorded is not there."""
    entry = current.get()
    # most are open, and not of a generator: asked here, that takes no call
    if entry is not None and (entry.ended or entry.frame is not None):
        entry = active_span(entry)
    found: Origin | None = entry.origin() if entry is not None else None
    return found or NOWHERE


def trace_id() -> str:
    """What `%(tid)s` shows."""
    entry = current.get()
    # as above
    if entry is not None and (entry.ended or entry.frame is not None):
        entry = active_span(entry)
    return (entry.trace_id or NO_TRACE) if entry is not None else NO_TRACE


def task_name() -> str:
    """The running task's name, on asyncio and on trio; empty where none runs.

    It looks at the libraries only if the application has loaded them, since importing one is not for us to do here.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        try:
            task = asyncio.current_task()
        except (RuntimeError, AttributeError):  # no loop runs in this thread, or the library is half imported
            pass
        else:
            name: object = task.get_name() if task is not None else ""
            return name if type(name) is str else as_text(name)
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return as_text(trio.lowlevel.current_task().name)
        except (RuntimeError, AttributeError):
            pass
    return ""
