"""A function in the place of another one, which the application is not to notice.

Warnings: `warnings.warn("…", stacklevel=2)` names the line that called the warning function. If a wrapper of the agent
made the call, the warning would name the wrapper, and filters by module would no longer match. `warnings` skips
importlib's frames, and recognises them by two words in the file name of their code. So the code of our wrappers has a
file name with these words.

A function in the place of one that is written in C:

A class that has a function of Python's among its attributes makes a method of it, and does not do so with a function of
C: `class Store: connect = sqlite3.connect`. So a function that takes such a place is an object that no class binds. It
has the attributes of the original, its class among them.
"""

from __future__ import annotations

import sys

# elsewhere the base class is written in Python, and asks itself for its attributes
_IS_CPYTHON = sys.implementation.name == "cpython"
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar
if TYPE_CHECKING or not _IS_CPYTHON:
    from functools import partial
else:
    # of a module in C: functools itself is not loaded at the start of a process
    from _functools import partial

BUILT_IN = type(len)
# `_is_internal_frame` of CPython's `warnings`, and `is_internal_filename` of its C code
_SKIPPED = " (skipped by warnings, as importlib._bootstrap)"


def unseen(function: Any) -> Any:
    """Make `warnings` skip the frames of one of the agent's functions. Other functions stay unchanged. A decorator."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(_FOLDER) or code.co_filename.endswith(_SKIPPED):
        return function
    hidden = _hidden.get(code)
    if hidden is None:
        hidden = _hidden[code] = code.replace(co_filename=code.co_filename + _SKIPPED)
    function.__code__ = hidden
    return function


_hidden: dict[Any, Any] = {}
_FOLDER: str = unseen.__code__.co_filename.rpartition("built_in")[0]


class _InPlace(partial):  # type: ignore[type-arg]
    """Calls pass through the base class, which adds no frame: some of our functions look for their caller."""

    __slots__ = ("__wrapped__",)
    # `func` is asked for by `inspect`, which goes through objects of the base class
    _own: ClassVar[frozenset[str]] = frozenset({"__call__", "__wrapped__", "func"})

    def __get__(self, instance: object, owner: object = None) -> _InPlace:
        return self

    def __getattribute__(self, name: str) -> Any:
        if name in _InPlace._own:
            return object.__getattribute__(self, name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__wrapped__, name, value)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


# the type's own name, where code asks for it
for _name in ("__module__", "__name__", "__qualname__"):
    setattr(_InPlace, _name, getattr(BUILT_IN, _name))


def is_in_place(function: object) -> bool:
    """Whether a function is such an object."""
    return type(function) is _InPlace


def in_place_of(original: Any, function: Callable[..., Any]) -> Any:
    """A function as an object that no class binds, if the original is one of C; otherwise the function itself.

    :param original: the function whose place it takes
    """
    if type(original) is not BUILT_IN or not _IS_CPYTHON:
        return function
    made = _InPlace(function)
    object.__setattr__(made, "__wrapped__", original)
    return made
