"""The functions that a hook has replaced in a library, and their restoration."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..errors import SwagentError
from .listeners import Listeners
from .subclass import named_as

Make = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Gets a function of a library, and makes the one that takes its place."""
_MISSING: Any = object()
_DECORATORS: tuple[Any, ...] = (staticmethod, classmethod)


class HookError(SwagentError):
    """A library is not as its hook expects it."""


class Patches:
    """Replaces attributes of modules and classes, and puts them back.

    :ivar listeners: functions that get the library's calls
    """

    def __init__(self, listeners: Listeners | None = None) -> None:
        """:param listeners: None: the application does not want to see any call"""
        self.listeners = listeners or Listeners()
        self._undo: list[Callable[[], object]] = []

    def wrap(self, owner: Any, name: str, make: Make) -> None:
        """Put a function around a function.

        :param owner: the module or class that has it, or whose base class has it
        :param make: gets the original function and returns the one to take its place, with the same arguments; a
            coroutine function for a coroutine function
        :raises HookError: the owner has no such function, or does not let it be replaced
        """
        found: Any = inspect.getattr_static(owner, name, _MISSING)
        kind: Any = next((each for each in _DECORATORS if isinstance(found, each)), None)
        original = found.__func__ if kind is not None else found
        if not callable(original):
            raise HookError(f"{_name_of(owner)} has no function {name}")
        replacement: Any = named_as(original, make(original))
        if isinstance(owner, ModuleType):
            self._set_at_origin(owner, original, replacement)
        self.set(owner, name, kind(replacement) if kind is not None else replacement)

    def _set_at_origin(self, owner: ModuleType, original: Any, replacement: Any) -> None:
        """Replace a function also in the module that it is from: pickle looks for it there."""
        origin: Any = sys.modules.get(str(getattr(original, "__module__", "")))
        name = str(getattr(original, "__qualname__", ""))
        if origin is not None and origin is not owner and getattr(origin, name, None) is original:
            self.set(origin, name, replacement)

    def set(self, owner: Any, name: str, value: object) -> None:
        """Give an attribute another value.

        :raises HookError: the owner does not let it be replaced
        """
        own: Any = owner.__dict__.get(name, _MISSING)
        try:
            setattr(owner, name, value)
        except (AttributeError, TypeError) as error:
            raise HookError(f"{_name_of(owner)}.{name} cannot be replaced: {error}") from error
        self._undo.append(functools.partial(_put_back, owner, name, value, own))

    def on_undo(self, undo: Callable[[], object]) -> None:
        """Have this called when the library is to be as it was."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Put everything back, the last first. A function that others have replaced since stays as it is."""
        while self._undo:
            self._undo.pop()()


def home_of(owner: type, name: str) -> type:
    """The class that a method is from: itself, or one of its bases.

    :raises HookError: it has no such method
    """
    for each in owner.__mro__:
        if name in vars(each):
            return each
    raise HookError(f"{_name_of(owner)} has no function {name}")


def _put_back(owner: Any, name: str, ours: object, own: object) -> None:
    if owner.__dict__.get(name, _MISSING) is not ours:
        return
    if own is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, own)


def _name_of(owner: Any) -> str:
    return str(getattr(owner, "__name__", owner))
