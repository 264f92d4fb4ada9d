"""A log record as it is reported, and the bounds that it keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple, cast

from ..limits import as_text
from ..trace.model import Origin

MAX_TEXT = 32 * 1024
MAX_TAG = 2 * 1024
# Together with a text of full length these stay below the 64 KiB that one record may have. All are bytes of JSON, see
# `cut`.
MAX_ALL_TAGS = 24 * 1024
_MARK = "…[truncated]"
# a letter beyond the basic plane: two escapes
_LONGEST = 12
_WHOLE_LETTERS = re.compile(r"(?:[^\\]+|\\u[0-9a-f]{4}|\\[^u])*")


class LogEntry(NamedTuple):
    """One log record, ready to be encoded. Its texts are plain `str` and short enough. No object of the application is
    left in it."""

    time: int
    """Milliseconds since the epoch."""
    text: str
    tags: list[tuple[str, str]]
    endpoint: str
    trace_id: str
    segment_id: str
    span_id: int
    """-1 outside of recorded traces."""


new_entry: Callable[[tuple[object, ...]], LogEntry] = partial(cast("Any", tuple).__new__, LogEntry)
"""Makes an entry of its fields, at a third of the price that its own constructor takes."""


def make_entry(seconds: float, text: str, tags: Iterable[tuple[str, object]], origin: Origin) -> LogEntry:
    """Put together what is known of a record.

    :param tags: those without a value are left out
    """
    return LogEntry(int(seconds * 1000), cut(text, MAX_TEXT), make_tags(tags), *origin)


def make_tags(tags: Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    """Tags within their bounds; those without a value are left out."""
    kept: list[tuple[str, str]] = []
    left = MAX_ALL_TAGS
    for key, value in tags:
        if value is None or value == "":
            continue
        pair = cut(as_text(key), MAX_TAG), cut(as_text(value), MAX_TAG)
        left -= _size(pair[0]) + _size(pair[1])
        if left < 0:
            kept.append(("truncated", "true"))
            break
        kept.append(pair)
    return kept


def _size(text: str) -> int:
    return len(encode_basestring_ascii(text)) - len('""')


def cut(text: str, limit: int) -> str:
    """The text as a plain `str`, cut to a size with a mark at the cut.

    :param limit: bytes of JSON, the longest form of a text: so it fits in every codec
    """
    if type(text) is not str:
        # a subclass may have its own idea of every method
        text = str.__str__(text)
    if len(text) * _LONGEST <= limit:
        return text
    if len(text) <= limit and _size(text) <= limit:
        return text
    escaped = encode_basestring_ascii(text[:limit])[1:-1]
    whole = _WHOLE_LETTERS.match(escaped[: limit - _size(_MARK)])
    kept: str = json.loads(f'"{whole[0] if whole else ""}"')
    # a letter may take two escapes, of which the first may be left
    return kept[: -1 if "\ud800" <= kept[-1:] <= "\udbff" else None] + _MARK
