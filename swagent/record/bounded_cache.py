"""Caches for values that every request needs and that have few variants.

They are bounded, since the arguments come from outside: by their number, and by the bytes of the texts among them. A
single text may be as long as its caller likes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

_MOST = 1024
_MOST_BYTES = 256 * 1024
_OF_OTHERS = 64


class BoundedCache(dict[Key, Answer], Generic[Key, Answer]):
    """A pure function's results by its argument: `cache[argument]`. For a known argument that runs no Python code.

    A full cache is emptied, and what is used often is back at once. Any thread may use it: each step is atomic, and two
    threads that miss the same argument merely compute it twice.
    """

    __slots__ = ("_function", "_held", "_most")

    def __init__(self, function: Callable[[Key], Answer], most: int = _MOST) -> None:
        """:param most: how many results it keeps"""
        super().__init__()
        self._function = function
        self._most = most
        self._held = 0

    def __missing__(self, key: Key) -> Answer:
        answer = self._function(key)
        size = _size_of(key)
        self._held += size
        if len(self) >= self._most or self._held > _MOST_BYTES:
            self.clear()
            self._held = size
        if size <= _MOST_BYTES:
            self[key] = answer
        return answer


def remembered(most: int = _MOST) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a pure function of several arguments, as `functools.lru_cache` does, with a second bound: when the
    arguments in the cache take too many bytes, it is emptied.

    :param most: how many results it keeps
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        held = 0

        @functools.wraps(function)
        def measured(*args: object, **kwargs: object) -> R:
            # only for arguments that are not in the cache: the others run no Python code
            nonlocal held
            size = sum(map(_size_of, (*args, *kwargs.values())))
            held += size
            if held > _MOST_BYTES:
                cached.cache_clear()
                held = size
            return cast("Callable[..., R]", function)(*args, **kwargs)

        cached = functools.lru_cache(most)(measured)
        return cast("Callable[P, R]", cached)

    return decorate


def _size_of(key: Any) -> int:
    if isinstance(key, str):
        return _OF_OTHERS + str.__len__(key)
    if isinstance(key, bytes):
        return _OF_OTHERS + bytes.__len__(key)
    kind: Any = key.__class__
    if kind is re.Pattern:
        return _size_of(key.pattern)
    return sum(_size_of(each) for each in key) if kind is tuple else _OF_OTHERS
