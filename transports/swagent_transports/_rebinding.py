"""Copies of a library's functions in which some global names mean other objects. One object uses the copy; nothing
else in the process changes."""

from __future__ import annotations

import logging
from inspect import isfunction
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


def without_logs(kind: type[Any]) -> type[Any]:
    """The same class, whose methods log nothing. Its module must name its logger `log`."""
    loud = {name: each for name, each in vars(kind).items() if isfunction(each) and "log" in each.__code__.co_names}
    return type(f"Silent{kind.__name__}", (kind,), {name: rebound(each, log=_SILENT) for name, each in loud.items()})
