"""Written by hand: the bounded caches that make a repeated field cost one dictionary lookup.

A cache is a dict whose `__missing__` encodes, so that a hit never enters Python code. Two bounds hold
the memory: the number of entries, and the length of what is kept. A full cache is emptied: what is hot
comes back with the next record, and no bookkeeping burdens the hits. Any thread may look up at any
time: each step is atomic, and two threads that miss the same key merely encode it twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Part = TypeVar("Part", bytes, str)

MAX_ENTRIES = 1024
MAX_CHARACTERS = 128
"""Names repeat, long texts do not: a longer one is encoded each time."""


class BoundedCache(dict[Key, Part], Generic[Key, Part]):
    """Give the key, get its encoded field. Subclasses say how in `encode`."""

    __slots__ = ()

    def __missing__(self, key: Key) -> Part:
        part = self.encode(key)
        if self.fits(key):
            if len(self) >= MAX_ENTRIES:
                self.clear()
            self[key] = part
        return part

    def encode(self, key: Key) -> Part:
        raise NotImplementedError

    def fits(self, key: Key) -> bool:  # noqa: ARG002 (numbers are all short)
        return True


class TextCache(BoundedCache[str, Part], Generic[Part]):
    __slots__ = ()

    def fits(self, key: str) -> bool:
        return len(key) <= MAX_CHARACTERS


class PairCache(BoundedCache[tuple[str, str], Part], Generic[Part]):
    __slots__ = ()

    def fits(self, key: tuple[str, str]) -> bool:
        return len(key[0]) + len(key[1]) <= MAX_CHARACTERS


def check_bits(value: int, bits: int, name: str) -> None:
    """Raises ValueError: a number too large would arrive as another number."""
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        raise ValueError(f"{name}: {value} does not fit in {bits} bits")
