"""Subclasses of the connections and cursors of drivers written in C, whose own methods cannot be replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .patches import HookError
from .sql_cursor import Begin, Make, around_query


class Cursors(NamedTuple):
    """How a connection's `cursor` is told of which class the cursor is to be."""

    keyword: str
    position: int
    default: type
    """Of which it is where nobody chooses."""
    traced: Callable[[type], type]
    """Gives the class that records for a class."""


def traced_cursor(base: type, begins: Mapping[str, Begin], around: Callable[[Begin], Make] = around_query) -> type:
    """A class whose methods have a span each.

    :param base: the driver's class, or the application's own subclass of it
    :raises HookError: it has no such method
    """
    return _subclass(base, (base,), {name: _wrapped(base, name, around(begin)) for name, begin in begins.items()})


def traced_connection(base: type, driver: type, cursors: Cursors, begins: Mapping[str, Begin] | None = None) -> type:
    """A connection's class, whose cursors record.

    Where the application has a class of its own, ours stands between it and the driver's: its `cursor` may choose
    another class of cursors, and has chosen when ours is called.

    :param driver: the driver's class
    :param begins: of the connection's own methods that take statements
    """

    def cursor(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = _choose(self, cursors, args, kwargs)
        return inherited(self, *args, **kwargs)

    inherited: Any = driver.__dict__["cursor"]
    members = {name: _wrapped(driver, name, around_query(begin)) for name, begin in (begins or {}).items()}
    ours = _subclass(driver, (driver,), {"cursor": cursor, **members})
    return ours if base is driver else _subclass(base, (base, ours), {})


def _choose(
    connection: Any, cursors: Cursors, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    keyword, position, default, traced = cursors
    is_positional = len(args) > position
    chosen = args[position] if is_positional else kwargs.get(keyword)
    chosen = chosen or getattr(connection, keyword, None) or default
    # a function makes what it likes
    if not isinstance(chosen, type) or not issubclass(chosen, default):
        return args, kwargs
    if is_positional:
        return (*args[:position], traced(chosen), *args[position + 1 :]), kwargs
    return args, {**kwargs, keyword: traced(chosen)}


def _subclass(of: type, bases: tuple[type, ...], members: dict[str, Any]) -> type:
    """It is called as the original, and says so."""
    return type(of)(of.__name__, bases, {**members, "__module__": of.__module__, "__qualname__": of.__qualname__})


def _wrapped(base: type, name: str, make: Make) -> Any:
    found = getattr(base, name, None)
    if found is None:
        raise HookError(f"{base.__name__} has no function {name}")
    traced = make(found)
    traced.__name__, traced.__doc__ = name, found.__doc__
    return traced
