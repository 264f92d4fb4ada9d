"""The fast path of a log record: one that has plain values only, and a layout of plain fields.

No code of the application can run while such a record becomes text, so nothing has to be kept from it, and that can
wait: its values are noted when it is logged, and become text in a group of others, see `layout`. Everything else takes
the full path, see `text`. Both give the same entry.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from .entry import MAX_TAG, cut
from .layout import Layout
from .origin import origin, task_name

_PLAIN = frozenset({str, int, float, bool, type(None)})
LETTERS = 2048
"""So many are never too long for a text, whatever they are."""
_TASK_LETTERS = MAX_TAG // 12
"""As many of a tag."""
_LATEST = 2.0**33
"""Of a time in seconds; later ones are somebody's joke."""
NO_MORE: tuple[Any, ...] = ()


class PlainRecord(NamedTuple):
    """What is noted of a record. No part is an object that the garbage collector counts, unless the layout shows more
    than most do."""

    created: float
    """Seconds since the epoch."""
    msecs: float
    """Of the second, as the record has them."""
    level: str
    logger: str
    thread: str
    message: str
    """With its arguments filled in."""
    more: tuple[Any, ...]
    """What else the layout shows of the record, in its order."""
    task: str
    endpoint: str
    trace_id: str
    segment_id: str
    span_id: int


FIELDS = len(PlainRecord._fields)


class PlainRecords:
    """Tells which records are plain, and what is to be noted of them. Any thread."""

    def __init__(self, layout: Layout) -> None:
        self._is_on = layout.is_simple
        self._more = layout.more

    def read(self, record: logging.LogRecord) -> tuple[Any, ...] | None:
        """The fields of a `PlainRecord`; None: it takes the full path. Its class must be that of `logging`.

        :raises Exception: as None: arguments that do not fit the message, or a record without some field
        """
        if not self._is_on or record.exc_info or record.exc_text or record.stack_info:
            return None
        message: Any = record.msg
        args: Any = record.args
        if args:
            if not (type(message) is str and type(args) is tuple and _PLAIN.issuperset(map(type, args))):
                return None
            message = message % args
        created, msecs = record.created, record.msecs
        level, logger, thread = record.levelname, record.name, record.threadName
        if not (type(message) is type(level) is type(logger) is type(thread) is str and len(message) <= LETTERS):
            return None
        if not (type(created) is type(msecs) is float and 0.001 <= created < _LATEST and 0.0 <= msecs < 1000.0):
            return None
        more = self._read_more(record) if self._more else NO_MORE
        task = task_name()
        if len(task) > _TASK_LETTERS:
            task = cut(task, MAX_TAG)
        # joined, which takes half as long as unpacking; a plain tuple takes a third of what a named one does
        return (created, msecs, level, logger, thread, message, more, task) + origin()  # noqa: RUF005

    def _read_more(self, record: logging.LogRecord) -> tuple[Any, ...]:
        values = tuple([getattr(record, field) for field in self._more])
        if not _PLAIN.issuperset(map(type, values)):
            raise TypeError("foreign code would make a text of it")
        if any(type(value) is str and len(value) > LETTERS for value in values):
            raise ValueError("too long to be kept for a while")
        return values
