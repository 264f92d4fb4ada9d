"""Copies of a library's functions in which some global names mean other objects. One object uses the copy; nothing
else in the process changes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import FunctionType
from typing import Any

_SILENT = logging.Logger("silent")
_SILENT.disabled = True


def rebound(function: Any, **names: Any) -> Any:
    """The same function, which finds these objects under the names of its module."""
    unknown = names.keys() - set(function.__code__.co_names)
    if unknown:
        raise AttributeError(f"{function.__qualname__} does not use {', '.join(sorted(unknown))}")
    scope = {**function.__globals__, **names}
    other = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    other.__kwdefaults__ = function.__kwdefaults__
    return other


def silenced(function: Any) -> Any:
    """The same function, which logs nothing. Its module must name its logger `log`."""
    return rebound(function, log=_SILENT)


def without_logs(kind: type[Any], **names: Any) -> type[Any]:
    """The same class, whose methods and properties log nothing. Its module must name its logger `log`.

    :param names: what they find under other names of their module
    """
    names = {"log": _SILENT, **names}
    found = {
        name: _quieted(each, names) for name, each in vars(kind).items() if isinstance(each, property | FunctionType)
    }
    return type(f"Silent{kind.__name__}", (kind,), found)


def _quieted(member: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(member, property):
        return property(*(each and _quieted(each, names) for each in (member.fget, member.fset, member.fdel)))
    return rebound(member, **_used(member, names))


def _used(function: Any, names: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: names[name] for name in names.keys() & set(function.__code__.co_names)}
