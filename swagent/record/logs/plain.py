"""The fast path of a log record: one that has plain values only, and a layout of plain fields.

No code of the application can run while such a record becomes text, so the text can wait: the values are noted when the
record is logged, and become text later, together with those of other records, see `layout`. Everything else takes the
full path, see `text`. Both give the same entry.
"""

from __future__ import annotations

import logging
from operator import attrgetter
from typing import Any, NamedTuple

from ..trace.context import Active
from ..trace.model import Origin, PendingOrigin
from .entry import MAX_TAG
from .layout import Layout
from .origin import NOWHERE, task_name

_PLAIN = frozenset({str, int, float, bool, type(None)})
LETTERS = 2048
"""A text of so many letters is never too long, whichever letters they are."""
TASK_LETTERS = MAX_TAG // 12
"""The same for a tag."""
NO_MORE: tuple[object, ...] = ()
_read = attrgetter("levelname", "name", "threadName", "created", "msecs", "msg", "args",
                   "exc_info", "exc_text", "stack_info")  # fmt: skip
_NONE = type(None)
_TYPES = (str, str, str, float, float, str, tuple, _NONE, _NONE, _NONE)
_MESSAGE = 5


class PlainRecord(NamedTuple):
    """The fields that are noted of a record."""

    level: str
    logger: str
    thread: str
    created: float
    """Seconds since the epoch."""
    milliseconds: float
    """Of its second, as the layout shows them."""
    message: str
    """With its arguments filled in."""
    more: tuple[object, ...]
    """Further values of the record that the layout shows, in its order."""
    task: str
    origin: Origin | PendingOrigin


FIELDS = len(PlainRecord._fields)


class PlainRecords:
    """Decides which records are plain, and what is to be noted of them. Any thread."""

    def __init__(self, layout: Layout) -> None:
        self._is_on = layout.is_simple
        self._more = layout.more

    def read(self, record: logging.LogRecord, entry: Active[Any] | None) -> tuple[object, ...] | None:
        """The fields of a `PlainRecord`; None: it takes the full path.

        :param entry: what was active when it was logged
        :raises Exception: as None: arguments that do not fit the message, or a record without some field
        """
        if type(record) is not logging.LogRecord:
            return None
        # all at once, which takes less than one by one; most are as this says
        read: tuple[Any, ...] = _read(record)
        if tuple(map(type, read)) != _TYPES or not self._is_on:
            return None
        message: str = read[_MESSAGE]
        args = read[_MESSAGE + 1]
        if args:
            if not _PLAIN.issuperset(map(type, args)):
                return None
            message = message % args
        if len(message) > LETTERS:
            return None
        more = self._read_more(record) if self._more else NO_MORE
        origin = NOWHERE if entry is None else entry.note_origin() or NOWHERE
        # joined, which takes half as long as unpacking; a plain tuple takes a third of what a named one does
        return read[:_MESSAGE] + (message, more, task_name(), origin)  # noqa: RUF005

    def _read_more(self, record: logging.LogRecord) -> tuple[object, ...]:
        values: tuple[object, ...] = tuple([getattr(record, field) for field in self._more])
        if not _PLAIN.issuperset(map(type, values)):
            raise TypeError("foreign code would make a text of it")
        if any(type(value) is str and len(value) > LETTERS for value in values):
            raise ValueError("too long to be kept for a while")
        return values
