"""Text within a bound, that says how much was left out; pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

MOST_BYTES = 8000
"""Bytes of an answer: less than 4,000 tokens, of which each is two bytes or more in such texts."""
_LONGEST = 300
_RESERVED = 300


class BoundedText:
    """Lines, as many as there is room for."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """:param most: bytes of UTF-8"""
        self._lines: list[str] = []
        self._room = most

    def add(self, line: str) -> None:
        """Add a line that has to be there; it is cut where it is long."""
        self._put(shorten(line))

    def rows(self, rows: Sequence[str], noun: str, remedy: str, most: int = 1000) -> None:
        """Add rows while there is room, and say how many are left out.

        :param noun: of a row: `span`
        :param remedy: how to see the others
        :param most: rows in any case
        """
        shown = 0
        for row in rows[:most]:
            line = shorten(row)
            if len(line.encode()) + 1 > self._room - _RESERVED:
                break
            self._put(line)
            shown += 1
        left = len(rows) - shown
        if left:
            self.add(f"({left:,} more {noun}{'s' if left != 1 else ''} left out. {remedy})")

    def _put(self, line: str) -> None:
        size = len(line.encode()) + 1
        if size <= self._room:
            self._room -= size
            self._lines.append(line)

    def __str__(self) -> str:
        return "\n".join(self._lines)


def shorten(text: str, most: int = _LONGEST) -> str:
    """A text of one line: what is not printable becomes a dot, and what is too long falls away."""
    clean = "".join(character if character.isprintable() else "·" for character in text[: most + 1])
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def moment(ms: int | None) -> str:
    """A time, in milliseconds since the epoch, in words."""
    if ms is None:
        return "never"
    return datetime.fromtimestamp(ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
