"""Subclasses of the connections and cursors of drivers written in C, whose own methods cannot be replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from ...arguments import Args, Kwargs, argument, with_argument
from ...patches import HookError
from ...rewriting import rewriting_call
from ...subclass import is_made_of, named_as, replacement_of, subclass_like
from .sql_cursor import Begin, Make, around_query

_ABSENT = object()


class Cursors(NamedTuple):
    """How a connection's `cursor` gets the class that the cursor is to have."""

    keyword: str
    position: int
    default: type
    """The class of a cursor where the application chooses none."""
    traced: Callable[[type], type]
    """Gives the class that records for a class."""
    none_is_default: bool = True
    """Whether None is as good as no argument."""
    is_alone: bool = False
    """Whether `cursor` takes nothing else: a call with another name is left to fail as it is."""


def traced_cursor(
    base: type,
    driver: type,
    begins: Mapping[str, Begin],
    around: Callable[[Begin], Make] = around_query,
    slots: Sequence[str] | None = None,
) -> Any:
    """A class whose methods have a span each: in place of the driver's where it is that, else between its instances and
    the application's own.

    :param driver: the driver's class, or one of them, which is to be replaced
    :param slots: as of `traced_connection`
    :raises HookError: it has no such method
    """
    members = {name: _wrapped(base, name, around(begin)) for name, begin in begins.items()}
    members.update(_written(slots))
    return replacement_of(base, members) if base is driver else subclass_like(base, (base,), members)


def traced_connection(
    driver: type,
    cursors: Cursors,
    begins: Mapping[str, Begin] | None = None,
    calls: Mapping[str, Callable[..., Any]] | None = None,
    slots: Sequence[str] | None = None,
) -> Any:
    """A class in place of the driver's, whose cursors record.

    :param driver: the driver's class
    :param begins: of the connection's own methods that take statements
    :param calls: what is called instead of the driver's own methods
    :param slots: our own attributes of its instances, which take no others; None: they take any
    """

    others, own = calls or {}, begins or {}
    members = {name: _wrapped(driver, name, around_query(own[name]), others.get(name)) for name in own}
    cursor = _wrapped(driver, "cursor", rewriting_call(partial(_choose, cursors)))
    return replacement_of(driver, {"cursor": cursor, **members, **_written(slots)})


def between(base: type, ours: type) -> Any:
    """A class for connections whose class the application has made of the driver's own, before that was replaced. Ours
    is between the two: the application's `cursor` may choose another class of cursors, and has chosen when ours is
    called."""
    return subclass_like(base, (base, ours), {"__slots__": ()})


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


def _choose(cursors: Cursors, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a connection's `cursor`, the connection among them, with the class that records."""
    keyword, position, default, traced, none_is_default, is_alone = cursors
    if is_alone and kwargs and keyword not in kwargs:
        return args, kwargs
    # behind the connection itself
    position += 1
    chosen = argument(args, kwargs, position, keyword, _ABSENT)
    if chosen is _ABSENT or (none_is_default and chosen is None):
        chosen = getattr(args[0], keyword, None) or default
    # a function makes what it likes
    if not isinstance(chosen, type) or not issubclass(chosen, default):
        return args, kwargs
    return with_argument(args, kwargs, position, keyword, traced(chosen))


def _written(slots: Sequence[str] | None) -> dict[str, Any]:
    """As a member of a class."""
    return {} if slots is None else {"__slots__": slots}


def _wrapped(base: type, name: str, make: Make, instead: Callable[..., Any] | None = None) -> Any:
    found = getattr(base, name, None)
    if found is None:
        raise HookError(f"{base.__name__} has no function {name}")
    return named_as(found, make(instead or found))
