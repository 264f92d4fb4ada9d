"""sqlite3: `connect`, whose connections and cursors record.

The peer is the file's name. What the agent's own collector keeps is not recorded. aiosqlite does what it does by
sqlite3, in a thread of each connection: its calls are given their context along.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextvars import copy_context
from functools import lru_cache
from typing import Any

from ..record.trace.context import current
from ..record.trace.model import Component
from .call import safely
from .instrumentation import STANDARD_LIBRARY, Instrumentation
from .patches import Patches
from .sql_call import Database, database_at
from .sql_cursor import begin_by
from .sql_subclass import Cursors, traced_connection, traced_cursor

_METHODS = ("execute", "executemany", "executescript")
_FACTORY = 5  # its place among connect's arguments


def _hook(module: Any, patches: Patches) -> None:
    begins = {name: begin_by(f"SQLite/sqlite3/{name}", _database_of_cursor) for name in _METHODS}
    own_begins = {name: begin_by(f"SQLite/sqlite3/{name}", _database_of) for name in _METHODS}

    @lru_cache(64)
    def cursor_class(base: type) -> type:
        return traced_cursor(base, begins)

    @lru_cache(64)
    def connection_class(base: type) -> type:
        return traced_connection(
            base, module.Connection, Cursors("factory", 0, module.Cursor, cursor_class), own_begins
        )

    # both now, that a library which cannot be subclassed is left alone
    cursor_class(module.Cursor)
    connection_class(module.Connection)

    def around_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  (the way to the caller's frame)
            if caller.f_globals.get("__name__", "").startswith("swagent."):
                return connect(*args, **kwargs)
            given = args[_FACTORY] if len(args) > _FACTORY else kwargs.get("factory", module.Connection)
            if not isinstance(given, type) or not issubclass(given, module.Connection):
                return connect(*args, **kwargs)
            factory = safely(connection_class, given) or given
            if len(args) > _FACTORY:
                args = (*args[:_FACTORY], factory, *args[_FACTORY + 1 :])
            else:
                kwargs["factory"] = factory
            connection = connect(*args, **kwargs)
            safely(_note_database, connection, args[0] if args else kwargs.get("database"))
            return connection

        return traced

    patches.wrap(module, "connect", around_connect)


def _note_database(connection: Any, database: Any) -> None:
    name = os.path.basename(os.fsdecode(database))
    connection._swagent_database = database_at("SQLite", Component.SQLITE, name or "temporary", None)  # noqa: SLF001


def _database_of(connection: Any) -> Database | None:
    found: Database | None = connection.__dict__.get("_swagent_database")
    return found


def _database_of_cursor(cursor: Any) -> Database | None:
    return _database_of(cursor.connection)


def _hook_aiosqlite(module: Any, patches: Patches) -> None:
    patches.wrap(module.Connection, "_execute", _around_thread_call)


def _around_thread_call(execute: Callable[..., Any]) -> Callable[..., Any]:
    # not a coroutine function: what it returns is awaited just the same
    def traced(self: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if current.get() is None:
            return execute(self, function, *args, **kwargs)
        return execute(self, copy_context().run, function, *args, **kwargs)

    return traced


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
