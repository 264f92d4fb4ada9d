"""Answers that are asked for at every request, and are few."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

_MOST = 1024


class BoundedCache(dict[Key, Answer], Generic[Key, Answer]):
    """A pure function's answers by its argument: `remembered[argument]`, which for a known one enters no Python code.

    Bounded, since the arguments come from outside: a full one is emptied, and what is asked for often is back at once.
    Any thread: each step is atomic, and two threads that miss the same argument merely ask twice.
    """

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Key], Answer]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: Key) -> Answer:
        answer = self._function(key)
        if len(self) >= _MOST:
            self.clear()
        self[key] = answer
        return answer
