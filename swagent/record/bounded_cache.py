"""A cache for what every request needs and what has few different values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

_MOST = 1024


class BoundedCache(dict[Key, Answer], Generic[Key, Answer]):
    """A pure function's results by its argument: `cache[argument]`. For a known argument that runs no Python code.

    It is bounded, since the arguments come from outside. A full cache is emptied, and what is used often is back at
    once. Any thread may use it: each step is atomic, and two threads that miss the same argument merely compute it
    twice.
    """

    __slots__ = ("_function", "_most")

    def __init__(self, function: Callable[[Key], Answer], most: int = _MOST) -> None:
        """:param most: how many results it keeps"""
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, key: Key) -> Answer:
        answer = self._function(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = answer
        return answer
