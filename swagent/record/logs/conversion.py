"""A record of `logging`, of loguru or of structlog becomes a `LogEntry`.

It runs in the thread and the task that logged, inside `alone()`, because it calls the application's code: `__str__` of
arguments and exceptions.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from ..foreign import class_name
from ..limits import MAX_TAGS, as_text
from .entry import LogEntry, make_entry
from .layout import Layout
from .mask import hide_field, mask_field
from .origin import NOWHERE, origin, task_name
from .settings import LogSettings
from .text import LogText

# Fields that structlog's processors add, that the entry contains already, or that cannot be shown as text.
_NOT_TAGS = frozenset({"event", "level", "logger", "timestamp", "exc_info", "stack_info", "trace_id"})


class Conversion:
    """Converts by the settings. Any thread."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._text = LogText(settings)
        self.layout = Layout(settings)
        """That of plain records."""
        self.from_plain = self.layout.entry
        """The entry for a record that the fast path has noted."""

    def from_logging(self, record: logging.LogRecord) -> LogEntry:
        """An entry with the record's own time and thread: the record may come from a queue."""
        tags: Iterable[tuple[str, object]] = _core_tags(record.levelname, record.name, record.threadName)
        if self._settings.formatted:
            return make_entry(record.created, self._text.formatted(record), tags, origin())
        tags = (*tags, *self._text.arguments(record))
        return make_entry(record.created, self._text.raw(record), tags, origin())

    def from_loguru(self, record: Mapping[str, Any]) -> LogEntry:
        """loguru has filled in the arguments already, so the layout and raw arguments do not apply."""
        tags = _core_tags(record["level"].name, record["name"], record["thread"].name)
        error = record["exception"] and tuple(record["exception"])
        return self._entry(record["time"].timestamp(), as_text(record["message"]), error, tags)

    def from_structlog(self, level: str, logger: object, event: object) -> LogEntry:
        """The event's text, and its other fields as tags."""
        fields: Mapping[object, object] = event if isinstance(event, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]
        name = fields.get("logger") or getattr(logger, "name", None)
        tags = _core_tags(level, name if isinstance(name, str) else None, threading.current_thread().name)
        if not isinstance(event, Mapping):
            # a renderer has converted it before
            return self._entry(time.time(), as_text(event), None, tags)
        error = fields.get("exc_info")
        error = sys.exc_info() if error is True else error
        return self._entry(time.time(), as_text(fields.get("event", "")), error, (*tags, *self._field_tags(fields)))

    def _entry(self, at: float, message: str, error: Any, tags: tuple[tuple[str, object], ...]) -> LogEntry:
        exception = self._text.safe(self._text.error(error))
        text = self._text.safe(message)
        if exception and self._settings.formatted:
            text = f"{text}\n{exception}"
        elif exception:
            tags = (*tags[:4], ("exception", exception), *tags[4:])
        return make_entry(at, text, tags, origin())

    def _field_tags(self, fields: Mapping[object, object]) -> Iterable[tuple[str, object]]:
        shown = [(as_text(key), as_text(value)) for key, value in fields.items() if key not in _NOT_TAGS]
        kept = shown[:MAX_TAGS]
        more = [("truncated", "true")] if len(shown) > MAX_TAGS else []
        seen = mask_field if self._settings.safe_mode else hide_field
        return [*((key, seen(key, value)) for key, value in kept), *more]


def _core_tags(level: object, logger: object, thread: object) -> tuple[tuple[str, object], ...]:
    return ("level", level), ("logger", logger), ("thread", thread), ("task", task_name())


def unreadable(error: BaseException) -> LogEntry:
    """A replacement for a record that cannot be converted at all."""
    return make_entry(time.time(), f"<a log record that cannot be read: {class_name(error)}>", (), NOWHERE)
