"""A mapping with a bound: the value that was put in first falls out first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """Keeps at most `limit` values; a key that is put in again keeps its place.

    It is no plain dict: a dict finds its first key only after it has skipped all keys that were removed before it.
    """

    def __init__(self, limit: int) -> None:
        """:raises ValueError: when `limit` is less than one"""
        if limit < 1:
            raise ValueError(f"a store keeps at least 1 record, not {limit}")
        self.limit = limit
        self.evicted = 0
        self._values: OrderedDict[K, V] = OrderedDict()

    def put(self, key: K, value: V) -> V | None:
        """Add or replace a value; returns the value that fell out, if one did."""
        self._values[key] = value
        if len(self._values) <= self.limit:
            return None
        self.evicted += 1
        return self._values.popitem(last=False)[1]

    def discard(self, key: K) -> None:
        """Take a value away, if it is there; does not count as evicted."""
        self._values.pop(key, None)

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def values(self) -> list[V]:
        return list(self._values.values())

    def keys(self) -> list[K]:
        return list(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
