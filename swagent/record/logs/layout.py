"""The layout of log records, as far as it is a simple one: text and plain fields, `%(name)s`.

Level, logger and thread are the same in most records, so the layout is known with these filled in. What is left of it
is filled with the values of each record, in their order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from ..bounded_cache import BoundedCache
from .entry import MAX_TEXT, LogEntry, cut, make_tags, new_entry
from .settings import LogSettings

_FIELD = re.compile(r"%\((\w+)\)s")
TASK = "task"
"""The tag of the task's name, the last one of a record."""
_KIND = ("levelname", "name", "threadName")
Tags = list[tuple[str, str]]


def time_of(created: float, msecs: float) -> str:
    """A record's time as `logging.Formatter` shows it."""
    return _SECONDS[int(created)] + _MILLISECONDS[int(msecs)]


def _second(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))


# Computing the local time is the most expensive part.
_SECONDS = BoundedCache(_second)
_MILLISECONDS: BoundedCache[int, str] = BoundedCache(",{:03d}".format)


class Layout:
    """What plain records look like by the settings. Any thread.

    :ivar is_simple: whether there are any
    :ivar more: the fields that it shows beside those which each plain record has
    """

    def __init__(self, settings: LogSettings) -> None:
        self._layout = settings.layout
        rest = _FIELD.sub("", settings.layout)
        self.is_simple = settings.formatted and not settings.safe_mode and "%" not in rest
        self._order = [field for field in _FIELD.findall(settings.layout) if field not in _KIND]
        self.more = tuple(dict.fromkeys(field for field in self._order if field not in ("asctime", "message")))
        self.kinds = BoundedCache(self._find_kind)
        """By level, logger and thread: the layout with these filled in, and the tags that tell them. Not by task, whose
        name is new for every request on asyncio."""

    def texts(self, forms: Sequence[str], columns: Sequence[Sequence[Any]]) -> Sequence[str]:
        """What several plain records say, before anything is cut.

        :param forms: the layout of each
        :param columns: the fields of plain records, field by field
        """
        shown: dict[str, Any] = {"message": columns[5]}
        if "asctime" in self._order:
            shown["asctime"] = [*map(time_of, columns[0], columns[1])]
        if self.more:
            shown.update(zip(self.more, zip(*columns[6], strict=True), strict=True))
        values: Any = zip(*(shown[field] for field in self._order), strict=True) if self._order else repeat(())
        return [form % each for form, each in zip(forms, values, strict=False)]

    def entry(self, plain: Sequence[Any]) -> LogEntry:
        """The entry of one plain record."""
        created, _, level, logger, thread, _, _, task, *origin = plain
        form, tags = self.kinds[level, logger, thread]
        (text,) = self.texts((form,), [(field,) for field in plain])
        return new_entry((int(created * 1000), cut(text, MAX_TEXT), [*tags, *task_tag(task)], *origin))

    def _find_kind(self, key: tuple[str, str, str]) -> tuple[str, Tags]:
        shown = dict(zip(_KIND, key, strict=True))

        def fill(field: re.Match[str]) -> str:
            return shown[field[1]].replace("%", "%%") if field[1] in shown else "%s"

        tags = make_tags(zip(("level", "logger", "thread"), key, strict=True))
        return _FIELD.sub(fill, self._layout), tags


def task_tag(task: str) -> Tags:
    """The tag of the task's name, where there is one."""
    return [(TASK, task)] if task else []
