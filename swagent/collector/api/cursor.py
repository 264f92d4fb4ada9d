"""A page of a list, put together piece by piece, and the place where the next page begins: after the last element of
this one, in the order of the list."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from heapq import nlargest
from typing import Any

from ..store.database import Row

Position = tuple[float, Any]
_BEYOND = 2**63  # SQLite's integers end before


class Page:
    """The first rows of those that are added, the greatest first: by one column, by the first where that is equal."""

    def __init__(self, limit: int, column: int) -> None:
        self._limit = limit
        self._column = column
        self._best: list[Row] = []  # one more than is shown: if there is one, there is a next page

    def add(self, rows: Iterable[Row]) -> None:
        """Have rows of the list, in any order."""
        self._best = nlargest(self._limit + 1, (*self._best, *rows), key=self._position)

    @property
    def rows(self) -> list[Row]:
        """The rows of the page."""
        return self._best[: self._limit]

    @property
    def following(self) -> str | None:
        """The text for the next page; None on the last one."""
        return encode(self._position(self.rows[-1])) if len(self._best) > self._limit else None

    def _position(self, row: Row) -> Position:
        return row[self._column], row[0]


def encode(position: Position) -> str:
    """The text for a client to hand back."""
    return json.dumps(position)


def decode(text: str, kind: type) -> Position | None:
    """The position in a text; None of an empty one.

    :param kind: of its second part
    :raises ValueError: when it is none
    """
    if not text:
        return None
    try:
        number, last = json.loads(text)
        json.dumps(last, ensure_ascii=False).encode()  # half a character is no text
        if _is_number(number) and type(last) is kind and (kind is str or _is_number(last)):
            return number, last
    except (ValueError, TypeError, RecursionError):
        pass
    raise ValueError("cursor: take the `next` of the page before")


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -_BEYOND <= value < _BEYOND
    return type(value) is float and math.isfinite(value)
