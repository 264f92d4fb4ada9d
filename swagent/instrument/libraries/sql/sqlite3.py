"""sqlite3: `connect`, whose connections and cursors record.

The peer is the file's name. The database of the agent's own collector is not recorded. aiosqlite does what it does by
sqlite3, in a thread of each connection: its calls are given their context along.
"""

from __future__ import annotations

import _sqlite3
import os
import sys
from collections.abc import Callable
from contextvars import copy_context
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any, NamedTuple, cast

from ....record import threads
from ....record.trace.context import current
from ....record.trace.model import Component
from ...arguments import Args, Kwargs, argument, with_argument
from ...call import safely
from ...instrumentation import STANDARD_LIBRARY, Instrumentation
from ...patches import Patches
from ...rewriting import rewriting_call
from ...subclass import is_made_of, named_as
from .sql_call import ON_CONNECTION, Database, database_at
from .sql_cursor import begin_by
from .sql_subclass import Cursors, between, chooser, traced_connection, traced_cursor

_METHODS = {"execute": (1, 2), "executemany": (2, 2), "executescript": (1, 1)}
"""By name, how many arguments each takes: at least and at most."""
_FACTORY = 5  # its place among connect's arguments
# A connection's own `execute` and its like make a cursor of the class that C knows. Elsewhere they call `cursor`.
_MAKES_CURSORS = sys.version_info >= (3, 11) and sys.implementation.name == "cpython"


class _Replaced(NamedTuple):
    """The module's own, and what takes their places, once for the process: an application makes classes of them."""

    connect: Any
    traced_connect: Any
    connection: Any
    traced_connection: Any
    cursor: Any
    traced_cursor: Any

    def around(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        if connect is self.connect:
            return cast("Callable[..., Any]", self.traced_connect)
        return _around_connect(self.connection, self.traced_connection, connect)

    def places(self) -> tuple[tuple[str, Any, Any], ...]:
        return (
            ("connect", self.connect, self.traced_connect),
            ("Connection", self.connection, self.traced_connection),
            ("Cursor", self.cursor, self.traced_cursor),
        )


def _hook(module: Any, patches: Patches) -> None:
    replaced = _replaced()
    for name, original, ours in replaced.places():
        found: object = getattr(module, name, None)
        if found is ours:
            # it came along with `from sqlite3.dbapi2 import *`
            setattr(module, name, original)
        if name == "connect":
            # that of both modules stays the same function
            patches.wrap(module, name, replaced.around)
        elif found is ours or found is original:
            patches.set(module, name, ours)


@lru_cache(1)
def _replaced() -> _Replaced:
    begins = {name: begin_by(f"SQLite/sqlite3/{name}", _database_of_cursor) for name in _METHODS}
    own_begins = {name: begin_by(f"SQLite/sqlite3/{name}", _database_of) for name in _METHODS}
    original: Any = _sqlite3

    cursors = traced_cursor(original.Cursor, original.Cursor, begins, slots=())
    cursor_class = chooser(
        original.Cursor, cursors, lambda base: traced_cursor(base, original.Cursor, begins, slots=())
    )
    choice = Cursors("factory", 0, original.Cursor, cursor_class, none_is_default=False, is_alone=True)
    calls = {name: _by_cursor(original, cursors, name) for name in _METHODS} if _MAKES_CURSORS else None
    connections = traced_connection(original.Connection, choice, own_begins, calls, slots=(ON_CONNECTION,))
    # named here, so that both modules have the same
    connect = named_as(original.connect, _around_connect(original.Connection, connections, original.connect))
    return _Replaced(original.connect, connect, original.Connection, connections, original.Cursor, cursors)


def _by_cursor(original: Any, cursors: Any, name: str) -> Callable[..., Any]:
    """A connection's method, done by a cursor of the class that has the module's name."""
    make_cursor, call = original.Connection.cursor, getattr(original.Cursor, name)
    of_connection = getattr(original.Connection, name)
    least, most = _METHODS[name]

    def by_cursor(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not least <= len(args) <= most:
            # a wrong call fails, and says so by the connection's name
            return of_connection(self, *args, **kwargs)
        return call(make_cursor(self, cursors), *args, **kwargs)

    return by_cursor


def _around_connect(original: type, ours: Any, connect: Callable[..., Any]) -> Callable[..., Any]:
    class_of = chooser(original, ours, lambda base: between(base, ours))

    def with_factory(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        factory = argument(args, kwargs, _FACTORY, "factory", original)
        # a function makes what it likes
        if not isinstance(factory, type) or not issubclass(factory, original):
            return args, kwargs
        return with_argument(args, kwargs, _FACTORY, "factory", class_of(factory))

    def traced(*args: Any, **kwargs: Any) -> Any:
        if _is_called_by_agent():
            return connect(*args, **kwargs)
        args, kwargs = safely(with_factory, args, kwargs) or (args, kwargs)
        connection = connect(*args, **kwargs)
        safely(_note_database, connection, ours, argument(args, kwargs, 0, "database"))
        return connection

    return traced


def _is_called_by_agent() -> bool:
    """Whether the caller of our caller is a module of the agent's."""
    try:
        caller = sys._getframe(2)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  (the way to the caller's frame)
    except ValueError:
        return False  # a thread that does nothing else has no frame
    name: object = caller.f_globals.get("__name__")
    # a function that the application gives to a pool is called by ours
    return type(name) is str and name.startswith("swagent.") and name != threads.__name__


def _note_database(connection: Any, ours: Any, database: Any) -> None:
    kind = cast("Any", type(connection))
    if not is_made_of(kind, ours):
        return
    name = _name_of(database)
    # not by the connection: a class of the application may have a `__setattr__`
    object.__setattr__(connection, ON_CONNECTION, database_at("SQLite", Component.SQLITE, name or "temporary", None))


def _name_of(database: Any) -> str:
    if isinstance(database, PurePath):
        return database.name
    # to ask anything else for its path is to call the application once more
    return os.path.basename(os.fsdecode(database)) if isinstance(database, (str, bytes)) else type(database).__name__


def _database_of(connection: Any) -> Database | None:
    found: Database | None = getattr(connection, ON_CONNECTION, None)
    return found


def _database_of_cursor(cursor: Any) -> Database | None:
    return _database_of(cursor.connection)


def _hook_aiosqlite(module: Any, patches: Patches) -> None:
    patches.wrap(module.Connection, "_execute", rewriting_call(_with_context))


def _with_context(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with a function that runs in this context, where something is under way in it."""
    function = argument(args, kwargs, 1, "fn")
    if current.get() is None or not callable(function):
        return args, kwargs
    return with_argument(args, kwargs, 1, "fn", partial(copy_context().run, function))


INSTRUMENTATIONS = (
    Instrumentation(
        name="sqlite3",
        module="sqlite3",
        also=("sqlite3.dbapi2",),
        hook=_hook,
        distribution=STANDARD_LIBRARY,
        opentelemetry=("sqlite3",),
    ),
    Instrumentation(name="aiosqlite", module="aiosqlite.core", hook=_hook_aiosqlite, versions=">=0.17,<0.23"),
)
