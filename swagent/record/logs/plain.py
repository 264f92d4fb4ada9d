"""The fast path of a log record: one that has plain values only, and a layout of plain fields.

No code of the application can run while such a record becomes text, so nothing has to be kept from it, and that can
wait: its values are noted when it is logged, and become text in a group of others, see `layout`. Everything else takes
the full path, see `text`. Both give the same entry.
"""

from __future__ import annotations

import logging
from math import floor
from typing import Any, NamedTuple

from .entry import MAX_TAG, cut
from .layout import Kind, Layout
from .origin import origin, task_name

_PLAIN = frozenset({str, int, float, bool, type(None)})
LETTERS = 2048
"""So many are never too long for a text, whatever they are."""
_TASK_LETTERS = MAX_TAG // 12
"""As many of a tag."""
_LATEST = 2**43
"""Of a time; later ones are somebody's joke."""
NO_MORE: tuple[Any, ...] = ()


class PlainRecord(NamedTuple):
    """What is noted of a record. No part is an object that the garbage collector counts, unless the layout shows more
    than most do."""

    time: int
    """Milliseconds since the epoch."""
    kind: Kind
    """Told by its level, its logger and its thread."""
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
        self._kinds = layout.kinds
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
            if not (type(message) is str and type(args) is tuple and _PLAIN.issuperset(map(type, args))):  # pyright: ignore[reportUnknownArgumentType]
                return None
            message = message % args
        told_by: Any = record.levelname, record.name, record.threadName
        level, logger, thread = told_by
        if not (type(message) is type(level) is type(logger) is type(thread) is str and len(message) <= LETTERS):
            return None
        # one number for both of a record's times: they differ where somebody has set them, and seldom by rounding
        created, milliseconds = record.created, record.msecs
        time = floor(created * 1000) if type(created) is type(milliseconds) is float else 0
        if not (0 < time < _LATEST and 0 <= milliseconds - time % 1000 < 1):
            return None
        more = self._read_more(record) if self._more else NO_MORE
        task = task_name()
        if len(task) > _TASK_LETTERS:
            task = cut(task, MAX_TAG)
        # joined, which takes half as long as unpacking; a plain tuple takes a third of what a named one does
        return (time, self._kinds[told_by], message, more, task) + origin()  # noqa: RUF005

    def _read_more(self, record: logging.LogRecord) -> tuple[Any, ...]:
        values: tuple[Any, ...] = tuple([getattr(record, field) for field in self._more])
        if not _PLAIN.issuperset(map(type, values)):
            raise TypeError("foreign code would make a text of it")
        if any(type(value) is str and len(value) > LETTERS for value in values):
            raise ValueError("too long to be kept for a while")
        return values
