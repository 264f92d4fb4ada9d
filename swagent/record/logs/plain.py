"""The fast path of a log record: one that has plain values only, and a layout of plain fields.

No code of the application can run while such a record becomes text, so nothing has to be kept from it, and nothing has
to be copied. Everything else takes the full path, see `text`. Both give the same entry.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from ..bounded_cache import BoundedCache
from .entry import MAX_TAG, MAX_TEXT, LogEntry, cut, make_tags, new_entry
from .origin import origin, task_name
from .settings import LogSettings

_FIELD = re.compile(r"%\((\w+)\)s")
_PLAIN = frozenset({str, int, float, bool, type(None)})
_LETTERS = MAX_TEXT // 12
"""So many are never too long, whatever they are."""
# What the tags show as well, and so is looked up together with them.
_KIND = frozenset({"levelname", "name", "threadName"})
Kind = tuple[list[tuple[str, str]], str]


class PlainRecords:
    """Converts the records that are plain. Any thread."""

    def __init__(self, settings: LogSettings, time_of: Callable[[logging.LogRecord], str]) -> None:
        """:param time_of: a record's time as the layout shows it"""
        fields = _FIELD.findall(settings.layout)
        self._layout = settings.layout
        self._is_on = settings.formatted and not settings.safe_mode and "%" not in _FIELD.sub("", settings.layout)
        self._tells_time = "asctime" in fields
        self._more = {*fields} - _KIND - {"message", "asctime"}
        self._time_of = time_of
        # not by task, whose name is new for every request on asyncio
        self._kinds = BoundedCache(self._find_kind)

    def convert(self, record: logging.LogRecord) -> LogEntry | None:
        """The record's entry; None: it takes the full path."""
        if not self._is_on or record.exc_info or record.exc_text or record.stack_info:
            return None
        message, args = record.msg, record.args
        level, logger, thread = kind = record.levelname, record.name, record.threadName
        try:
            if args:
                if type(args) is not tuple or not _PLAIN.issuperset(map(type, args)):
                    return None
                message = message % args if type(message) is str else None
            if not (type(message) is type(level) is type(logger) is type(thread) is str):
                return None
            tags, layout = self._kinds[kind]
            text = layout % self._values(record, message)
        except (TypeError, ValueError, AttributeError, OverflowError):
            # arguments that do not fit the message, or a record without some field
            return None
        if len(text) > _LETTERS:
            text = cut(text, MAX_TEXT)
        tags = [*tags, ("task", cut(task, MAX_TAG))] if (task := task_name()) else [*tags]
        return new_entry((int(record.created * 1000), text, tags, *origin()))

    def _values(self, record: logging.LogRecord, message: object) -> dict[str, Any]:
        values: dict[str, Any] = {"message": message}
        if self._tells_time:
            values["asctime"] = self._time_of(record)
        for field in self._more:
            value = values[field] = getattr(record, field)
            if type(value) not in _PLAIN:
                raise TypeError("foreign code would make a text of it")
        return values

    def _find_kind(self, key: tuple[str, str, str | None]) -> Kind:
        """The tags of such records, and the layout with these fields filled in."""
        level, logger, thread = key
        shown = {"%(levelname)s": level, "%(name)s": logger, "%(threadName)s": thread}

        def fill(field: re.Match[str]) -> str:
            return (shown.get(field[0]) or "").replace("%", "%%") if field[0] in shown else field[0]

        tags = make_tags((("level", level), ("logger", logger), ("thread", thread)))
        return tags, _FIELD.sub(fill, self._layout)
