"""The work on each record of `logging`, before and after the application's handlers: by the accelerator where it is
installed, and else here. Both do the same. The accelerator leaves unusual records to Python.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal, Protocol, cast

from ... import acceleration
from ..suppression import suppress_instrumentation
from ..trace.context import Active, current
from ..trace.span import active_entry, joined_entry
from .guard import Thread, read_alone, work
from .layout import Layout
from .origin import NO_TRACE, NOWHERE, task_name
from .plain import LETTERS, PlainRecords

_OURS = "swagent"
_HIGHEST = 2**63 - 1


class Reader(Protocol):
    """Looks at each record, and notes the plain ones. Any thread."""

    def look(self, record: logging.LogRecord, /) -> Active[Any] | Literal[False] | None:
        """Set the record's field for `%(tid)s`; never raises.

        :returns: what was active when it was logged, or None; False where it is not reported
        """
        ...

    def note(
        self, thread: Thread, record: logging.LogRecord, entry: Active[Any] | None, /
    ) -> tuple[object, ...] | Literal[True] | None:
        """The fields of a `PlainRecord`; True: these are handed over already; None: it takes the full path.

        :param thread: this one
        :param entry: as `look` found it
        """
        ...


class RecordReader:
    """The reader in Python."""

    def __init__(self, level: int, layout: Layout) -> None:
        """:param level: of the records that are reported, and of all above"""
        self._level = level
        self._read = PlainRecords(layout).read

    def look(self, record: logging.LogRecord, /) -> Active[Any] | Literal[False] | None:
        """See `Reader`."""
        try:
            entry = active_entry()
            # for the application's own formatters; to read `__dict__` would make the dict, which costs more
            is_usual = type(record) is logging.LogRecord  # it may be of a foreign class
            if not hasattr(record, "tid") if is_usual else "tid" not in record.__dict__:
                record.tid = NO_TRACE if entry is None else entry.find_trace_id() or NO_TRACE
            is_wanted = record.levelno >= self._level and not record.name.startswith(_OURS)
        except Exception:  # noqa: BLE001, RUF100  (a record of a foreign class; its handlers may cope with it)
            return False
        return entry if is_wanted else False

    def note(
        self, thread: Thread, record: logging.LogRecord, entry: Active[Any] | None, /
    ) -> tuple[object, ...] | None:
        """See `Reader`."""
        return read_alone(thread, self._read, record, entry)


def make_reader(
    level: int,
    layout: Layout,
    offer: Callable[[tuple[object, ...]], object] | None = None,
    warn: Callable[[Exception], object] | None = None,
) -> Reader:
    """The reader of this process, for one capture.

    :param offer: what was noted is for this function. The accelerator hands it over itself, where the function is its
    :param warn: takes an error of it then
    """
    reader = RecordReader(level, layout)
    native: Any = acceleration.native
    if native is None or abs(level) > _HIGHEST:  # no number of C holds it
        return reader
    given = (
        *(logging.LogRecord, reader.look, _OURS, current, joined_entry, suppress_instrumentation, work, task_name),
        *(NOWHERE, NO_TRACE, layout.more, offer, warn),
    )
    letters = LETTERS if layout.is_simple else -1
    return cast("Reader", native.RecordReader(*given, level, letters))
