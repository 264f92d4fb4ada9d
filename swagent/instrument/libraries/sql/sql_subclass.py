"""Subclasses of the connections and cursors of drivers written in C, whose own methods cannot be replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ...call import safely
from ...patches import HookError
from ...subclass import is_made_of, named_as, replacement_of, subclass_like
from .sql_cursor import Begin, Make, around_query


class Cursors(NamedTuple):
    """How a connection's `cursor` is told of which class the cursor is to be."""

    keyword: str
    position: int
    default: type
    """Of which it is where nobody chooses."""
    traced: Callable[[type], type]
    """Gives the class that records for a class."""


def traced_cursor(
    base: type, driver: type, begins: Mapping[str, Begin], around: Callable[[Begin], Make] = around_query
) -> Any:
    """A class whose methods have a span each: in place of the driver's where it is that, else between its instances and
    the application's own.

    :param driver: the driver's class, or one of them, which is to be replaced
    :raises HookError: it has no such method
    """
    members = {name: _wrapped(base, name, around(begin)) for name, begin in begins.items()}
    return replacement_of(base, members) if base is driver else subclass_like(base, (base,), members)


def traced_connection(
    driver: type,
    cursors: Cursors,
    begins: Mapping[str, Begin] | None = None,
    calls: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """A class in place of the driver's, whose cursors record.

    :param driver: the driver's class
    :param begins: of the connection's own methods that take statements
    :param calls: what is called instead of the driver's own methods
    """

    def make(inherited: Callable[..., Any]) -> Callable[..., Any]:
        def cursor(self: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = safely(_choose, self, cursors, args, kwargs) or (args, kwargs)
            return inherited(self, *args, **kwargs)

        return cursor

    others, own = calls or {}, begins or {}
    members = {name: _wrapped(driver, name, around_query(own[name]), others.get(name)) for name in own}
    return replacement_of(driver, {"cursor": _wrapped(driver, "cursor", make), **members})


def between(base: type, ours: type) -> Any:
    """A class for connections whose class the application has made of the driver's own, before that was replaced. Ours
    stands between the two: the application's `cursor` may choose another class of cursors, and has chosen when ours is
    called."""
    return subclass_like(base, (base, ours), {})


def chooser(driver: type, ours: Any, make: Callable[[type], Any]) -> Callable[[type], Any]:
    """Gives the class that records for a class.

    :param driver: the driver's own
    :param ours: in its place
    :param make: makes one for a class that the application has made of the driver's, before that was replaced
    """
    made = lru_cache(64)(make)

    def choose(base: type) -> Any:
        if base is driver:
            return ours
        return base if is_made_of(base, ours) else made(base)

    return choose


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


def _wrapped(base: type, name: str, make: Make, instead: Callable[..., Any] | None = None) -> Any:
    found = getattr(base, name, None)
    if found is None:
        raise HookError(f"{base.__name__} has no function {name}")
    return named_as(found, make(instead or found))
