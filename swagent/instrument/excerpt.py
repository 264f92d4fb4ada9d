"""The beginning of what a call asks for, for those who want it shown."""

from __future__ import annotations

from reprlib import Repr

from ..record.limits import as_text, short

_MAX_ITEMS = 20
_MIN_LENGTH = 16


def excerpt_of(value: object, length: int) -> str:
    """A value as text. Looked at in parts only: it may hold a million documents.

    :param length: of the text, in characters
    """
    length = max(length, _MIN_LENGTH)
    if isinstance(value, bytes):
        value = value[: length + 1].decode("utf-8", "replace")
    if isinstance(value, str):
        return short(as_text(value[: length + 1]), length)
    shown = Repr()
    shown.maxlist = shown.maxtuple = shown.maxdict = _MAX_ITEMS
    shown.maxstring = shown.maxother = length
    return short(shown.repr(value), length)
