"""The layout of log records, as far as it is a simple one: text and plain fields, `%(name)s`.

Few combinations of level, logger and thread occur, so the layout is kept with these three filled in for each of them.
Its other fields are filled with the values of each record, in their order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from ..bounded_cache import BoundedCache
from .entry import MAX_TAG, MAX_TEXT, LogEntry, cut, make_tags, new_entry
from .origin import as_origin
from .settings import LogSettings

_FIELD = re.compile(r"%\((\w+)\)s")
TASK = "task"
"""The tag of the task's name, the last one of a record."""
_KIND = ("levelname", "name", "threadName")
Tags = tuple[tuple[str, str], ...]


class Kind:
    """The common part of records of one level, logger and thread. Looked up by identity, which takes no time.

    :ivar pieces: the layout with these filled in, cut at each other field
    :ivar form: the same, with a gap for each other field
    :ivar tags: those that show them
    """

    __slots__ = ("form", "pieces", "tags")

    def __init__(self, pieces: Sequence[str], tags: Tags) -> None:
        self.pieces = pieces
        self.form = "%s".join(piece.replace("%", "%%") for piece in pieces)
        self.tags = tags


def time_text(second: int, millisecond: int) -> str:
    """A record's time as `logging.Formatter` shows it."""
    return f"{SECONDS[second]},{millisecond:03d}"


def _second(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))


# Computing the local time is the most expensive part; and many records fall into one millisecond.
SECONDS = BoundedCache(_second)
"""The seconds as `logging.Formatter` shows them, without their milliseconds."""
_TIMES: BoundedCache[tuple[int, int], str] = BoundedCache(lambda at: time_text(*at))


class Layout:
    """The form that the settings give to plain records. Any thread may use it.

    :ivar is_simple: whether the layout allows plain records
    :ivar order: the fields of each record that it shows
    :ivar more: the fields that it shows beside those which each plain record has
    """

    def __init__(self, settings: LogSettings) -> None:
        self._layout = settings.layout
        rest = _FIELD.sub("", settings.layout)
        self.is_simple = settings.formatted and not settings.safe_mode and "%" not in rest
        self.order: Sequence[str] = [field for field in _FIELD.findall(settings.layout) if field not in _KIND]
        self.more = tuple(dict.fromkeys(field for field in self.order if field not in ("asctime", "message")))
        self.kinds = BoundedCache(self._find_kind)
        """By level, logger and thread. Not by task, whose name is new for every request on asyncio."""

    def texts(
        self,
        seconds: Sequence[float],
        milliseconds: Sequence[float],
        kinds: Sequence[Kind],
        messages: Sequence[str],
        more: Sequence[tuple[object, ...]],
    ) -> list[str]:
        """The texts of several plain records, before they are cut, from their columns of fields."""
        shown: dict[str, Sequence[object]] = {"message": messages}
        if "asctime" in self.order:
            shown["asctime"] = [*map(_TIMES.__getitem__, zip(map(int, seconds), map(int, milliseconds), strict=True))]
        if self.more:
            shown.update(zip(self.more, zip(*more, strict=True), strict=True))
        values: Any = zip(*(shown[field] for field in self.order), strict=True) if self.order else repeat(())
        return [kind.form % each for kind, each in zip(kinds, values, strict=False)]

    def entry(self, plain: Sequence[Any]) -> LogEntry:
        """The entry of one plain record."""
        level, logger, thread, seconds, milliseconds, message, more, task, noted = plain
        kind = self.kinds[level, logger, thread]
        (text,) = self.texts([seconds], [milliseconds], [kind], [message], [more])
        tags = [*kind.tags, *task_tag(task)]
        return new_entry((int(seconds * 1000), cut(text, MAX_TEXT), tags, *as_origin(noted)))

    def _find_kind(self, key: tuple[str, str, str]) -> Kind:
        shown: dict[str, str] = dict(zip(_KIND, key, strict=True))
        pieces = [""]
        # text and the names of fields, by turns
        for at, part in enumerate(_FIELD.split(self._layout)):
            if at % 2 and part not in shown:
                pieces.append("")
            else:
                pieces[-1] += shown[part] if at % 2 else part
        return Kind(pieces, tuple(make_tags(zip(("level", "logger", "thread"), key, strict=True))))


def task_tag(task: str) -> Tags:
    """The tag of the task's name, where there is one."""
    return ((TASK, cut(task, MAX_TAG)),) if task else ()
