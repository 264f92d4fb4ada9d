"""Subclasses that take the place of a library's own class, whose methods cannot be replaced, or are not to be for all.

An application finds them in the place of the original, under its name; their instances are instances of the original,
too. Instances made before count as theirs as well.
"""

from __future__ import annotations

import functools
from abc import ABCMeta
from collections.abc import Callable, Mapping
from typing import Any

from ..built_in import in_place_of, is_in_place, unseen


def replacement_of(base: type, members: Mapping[str, Any] | None = None) -> Any:
    """A class to take the place of another one. The original's instances and subclasses count as its own."""
    kind: Any = type(base)
    # `class Theirs(Ours, ABC)` has to stay possible
    metas = (kind,) if issubclass(kind, ABCMeta) else (ABCMeta,) if kind is type else (kind, ABCMeta)

    def is_instance(cls: Any, instance: object) -> bool:
        return isinstance(instance, base) if cls is ours else bool(ABCMeta.__instancecheck__(cls, instance))

    def is_subclass(cls: Any, subclass: type) -> bool:
        return issubclass(subclass, base) if cls is ours else bool(ABCMeta.__subclasscheck__(cls, subclass))

    meta: Any = type("Meta", metas, {"__instancecheck__": is_instance, "__subclasscheck__": is_subclass})
    ours = subclass_like(base, (base,), members or {}, meta)
    return ours


def subclass_like(of: type, bases: tuple[type, ...], members: Mapping[str, Any], meta: Any = type) -> Any:
    """A subclass with the original's name. If `members` has `__slots__`, its instances take no other attributes than
    those of the original do."""
    names = {"__module__": of.__module__, "__qualname__": of.__qualname__, "__doc__": of.__doc__}
    made = meta(of.__name__, bases, {**members, **names})
    if "__slots__" in members:
        # it has done its work, and the original has none
        del made.__slots__
    return made


def is_made_of(cls: type, base: type) -> bool:
    """Whether a class has this one among its bases, whatever that says of itself."""
    return base in cls.__mro__


def own_attribute(instance: object, name: str, default: Any = None) -> Any:
    """An attribute of ours, in the dictionary of an instance or in a slot. A `__getattr__` of the application is not
    asked."""
    try:
        return object.__getattribute__(instance, name)
    except AttributeError:
        return default


def named_as(original: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that looks like another one, even like one of C, which has fewer attributes than others, or which no
    class binds. A function that has been made so stays as it is."""
    if is_in_place(function):
        return function
    functools.update_wrapper(unseen(function), original)
    if not hasattr(original, "__module__"):
        function.__module__ = original.__objclass__.__module__
    if not hasattr(original, "__annotations__"):
        function.__annotations__ = {}
    return in_place_of(original, function)  # type: ignore[no-any-return]
