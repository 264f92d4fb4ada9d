"""Where a log record comes from: the active trace, and the running task."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..limits import as_text
from ..trace.model import Origin, PendingOrigin
from ..trace.span import active_entry

NO_TRACE = "N/A"
"""The text that `%(tid)s` shows where no trace is active."""
NOWHERE: Origin = ("", "", "", -1)


def as_origin(noted: Origin | PendingOrigin) -> Origin:
    """The place that a note means."""
    return noted if isinstance(noted, tuple) else noted.late_origin() or NOWHERE


def origin() -> Origin:
    """The place of what is active, or of what goes on here. A trace that is not recorded is not there."""
    entry = active_entry()
    return NOWHERE if entry is None else as_origin(entry.note_origin() or NOWHERE)


def task_name() -> str:
    """The running task's name, on asyncio and on trio; empty where none runs."""
    try:
        name: object = _find_task().get_name()
    except (RuntimeError, AttributeError):  # no loop of asyncio runs in this thread, or no task in it
        return _trio_task_name()
    return name if type(name) is str else as_text(name)


def _trio_task_name() -> str:
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return as_text(trio.lowlevel.current_task().name)
        except (RuntimeError, AttributeError):
            pass
    return ""


def _find_first() -> Any:
    """Replaces asyncio's `current_task` until the application has loaded asyncio, which the agent does not import
    itself.

    :raises RuntimeError: as `current_task` does, where there is no task
    """
    global _find_task  # noqa: PLW0603, RUF100
    # not there as long as the library is half imported
    found = getattr(sys.modules.get("asyncio"), "current_task", None)
    if found is None:
        raise RuntimeError("asyncio is not loaded")
    _find_task = found
    return found()


_find_task: Callable[[], Any] = _find_first
