"""The fast path of a log record: one that has plain values only, and a layout of plain fields.

No code of the application can run while such a record becomes text, so nothing has to be kept from it, and nothing has
to be copied. Everything else takes the full path, see `text`. Both give the same entry.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ..bounded_cache import BoundedCache
from .entry import MAX_TAG, MAX_TEXT, LogEntry, cut, make_tags
from .origin import origin, task_name
from .settings import LogSettings

_FIELD = re.compile(r"%\((\w+)\)s")
_PLAIN = frozenset({str, int, float, bool, type(None)})


class PlainRecords:
    """Converts the records that are plain. Any thread."""

    def __init__(self, settings: LogSettings, time_of: Callable[[logging.LogRecord], str]) -> None:
        """:param time_of: a record's time as the layout shows it"""
        fields = _FIELD.findall(settings.layout)
        rest = _FIELD.sub("", settings.layout)
        self._is_on = settings.formatted and not settings.safe_mode and "%" not in rest and len(fields) > 1
        # `%` of what is between the fields is none, so the layout itself is the format
        self._format = _FIELD.sub("%s", settings.layout)
        self._messages = [at for at, field in enumerate(fields) if field == "message"]
        self._times = [at for at, field in enumerate(fields) if field == "asctime"]
        # fields that are made here stand for something that every record has
        names = ["msg" if field in ("message", "asctime") else field for field in fields]
        self._values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names) if self._is_on else _nothing
        self._time_of = time_of

    def convert(self, record: logging.LogRecord) -> LogEntry | None:
        """The record's entry; None: it takes the full path."""
        if not self._is_on or record.exc_info or record.exc_text or record.stack_info:
            return None
        message, args = record.msg, record.args
        try:
            if args:
                if type(args) is not tuple or not _PLAIN.issuperset(map(type, args)):
                    return None
                message = message % args if type(message) is str else None
            if type(message) is not str:
                return None
            values = list(self._values(record))
            if not _PLAIN.issuperset(map(type, values)):
                return None
            for at in self._messages:
                values[at] = message
            for at in self._times:
                values[at] = self._time_of(record)
            text = self._format % tuple(values)
            tags = [*_TAGS[record.levelname, record.name, record.threadName]]
        except (TypeError, ValueError, AttributeError, OverflowError):
            # arguments that do not fit the message, or a record without some field
            return None
        if task := task_name():
            tags.append(("task", cut(task, MAX_TAG)))
        return LogEntry(int(record.created * 1000), cut(text, MAX_TEXT), tags, *origin())


def _nothing(_: object) -> tuple[Any, ...]:
    return ()


def _tags(key: tuple[Any, Any, Any]) -> tuple[tuple[str, str], ...]:
    level, logger, thread = key
    if not _PLAIN.issuperset(map(type, key)):
        raise TypeError("a name is no text")
    return tuple(make_tags((("level", level), ("logger", logger), ("thread", thread))))


# Not by task, whose name is new for every request on asyncio.
_TAGS = BoundedCache(_tags)
