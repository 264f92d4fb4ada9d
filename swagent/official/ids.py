"""Ids as the official agent has them: objects whose text is the id."""

from __future__ import annotations

from ..record.trace.ids import new_id


class ID:
    """An id of a trace or of a segment."""

    def __init__(self, raw_id: str | None = None) -> None:
        """:param raw_id: a new one is drawn when left out"""
        self.value = new_id() if raw_id is None else raw_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ID) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return self.value

    __repr__ = __str__
