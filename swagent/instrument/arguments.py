"""Reads and replaces arguments of a call, which is otherwise passed on unchanged.

A wrapper takes `*args` and `**kwargs`, and gives them names of its own nowhere: the library's signature decides what is
given by position and what by name, and it changes with its versions. An argument that is read or replaced is found by
both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def argument(args: Args, kwargs: Kwargs, place: int, name: str, default: Any = None) -> Any:
    """One argument of a call.

    :param place: by position, counted without the object whose method is called
    :param default: where it is not given
    """
    return args[place] if len(args) > place else kwargs.get(name, default)


def with_argument(args: Args, kwargs: Kwargs, place: int, name: str, value: Any) -> tuple[Args, Kwargs]:
    """The arguments with another value for one of them, given in the way in which it was; by name where it was not."""
    if len(args) > place:
        return (*args[:place], value, *args[place + 1 :]), kwargs
    return args, {**kwargs, name: value}


def with_changed(
    args: Args, kwargs: Kwargs, place: int, name: str, change: Callable[[Any], Any]
) -> tuple[Args, Kwargs]:  # fmt: skip
    """The arguments with what is made of one of them; as they are, where that is itself.

    :param change: gets the argument, None where it is not given
    """
    value = argument(args, kwargs, place, name)
    changed = change(value)
    return (args, kwargs) if changed is value else with_argument(args, kwargs, place, name, changed)
