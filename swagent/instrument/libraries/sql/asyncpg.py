"""asyncpg: what connections and prepared statements do, cursors and COPY.

Only public methods are replaced: the signatures of the private ones change. A pool's connections call them on the
class, and so are seen, too. The query with which the pool resets a connection that is given back is not recorded.

Iterating a cursor is one call, however many times it asks for more rows: its span is open until the last row, an error,
or the iterator's end, and is not the active one meanwhile. A cursor that is opened and fetched from by hand makes a
call each time.
"""

from __future__ import annotations

from typing import Any

from ....acceleration import native
from ....record.bounded_cache import BoundedCache
from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...instrumentation import Instrumentation
from ...patches import Patches
from .asyncpg_cursor import begin_cursor_by, traced_cursor, traced_iterator
from .sql_call import Database, begin_query, database_at
from .sql_cursor import Begin, around_awaited_query, begin_copy_by
from .sql_pools import watch_asyncpg

_BIND = "PostgreSQL/AsyncPG/bind"
_MANY = "PostgreSQL/AsyncPG/executemany"
_NAMES = {
    "execute": _BIND,
    "fetch": _BIND,
    "fetchval": _BIND,
    "fetchrow": _BIND,
    "executemany": _MANY,
    "fetchmany": _MANY,
}
_COPIES = ("copy_from_table", "copy_from_query", "copy_to_table", "copy_records_to_table")


def _hook(module: Any, patches: Patches) -> None:
    connection, prepared = module.connection.Connection, module.prepared_stmt.PreparedStatement
    for method, name in _NAMES.items():
        # those of fetchmany are as young as 0.30
        if hasattr(connection, method):
            patches.wrap(connection, method, around_awaited_query(_begin_by(name)))
        if hasattr(prepared, method):
            patches.wrap(prepared, method, around_awaited_query(_begin_prepared_by(name)))
    patches.wrap(connection, "prepare", around_awaited_query(_begin_by("PostgreSQL/AsyncPG/prepare")))
    for method in _COPIES:
        patches.wrap(connection, method, around_awaited_query(begin_copy_by("PostgreSQL/AsyncPG/copy", _database_of)))
    begin, cursors = begin_cursor_by(_BIND, _database_of), module.cursor
    patches.set(cursors, "CursorIterator", traced_iterator(cursors.CursorIterator, begin))
    patches.set(cursors, "Cursor", traced_cursor(cursors.Cursor, begin))
    watch_asyncpg(patches, module.pool.Pool, _database_of)


def _begin_by(name: str) -> Begin:
    def begin(connection: Any, args: Args, kwargs: Kwargs) -> Span | None:
        statement = args[0] if args else kwargs.get("query", kwargs.get("command"))
        if statement is connection._reset_query:  # noqa: SLF001
            return None
        # as `_database_of`, without the call: these lines are in each query
        database = _DATABASES[connection._addr, connection._params.database]  # noqa: SLF001
        return begin_query(name, database, statement, args[1:])

    return begin if native is None else native.QueryBegin(name, _DATABASES, begin)


def _begin_prepared_by(name: str) -> Begin:
    def begin(statement: Any, args: Args, _: Kwargs) -> Span | None:
        return begin_query(name, _database_of(statement._connection), statement.get_query(), args)  # noqa: SLF001

    return begin


def _database_of(connection: Any) -> Database:
    return _DATABASES[connection._addr, connection._params.database]  # noqa: SLF001


def _database_at(place: tuple[Any, Any]) -> Database:
    address, database = place
    # a socket's path, or host and port
    host, port = address[:2] if not isinstance(address, str) else (address, None)
    return database_at("PostgreSQL", Component.ASYNCPG, host, port, database)


_DATABASES = BoundedCache(_database_at)

INSTRUMENTATION = Instrumentation(
    name="asyncpg",
    module="asyncpg",
    hook=_hook,
    versions=">=0.25,<0.33",
    plugins=("sw_asyncpg",),
    opentelemetry=("asyncpg",),
)
