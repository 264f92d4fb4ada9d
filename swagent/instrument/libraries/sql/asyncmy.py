"""asyncmy: the cursors that its connections make.

They are types of C, whose methods cannot be replaced: subclasses take their place. The unbuffered cursor stays as it
is, since it is quick only where it is no subclass: there the connection's query has the span. Such a query has its
values in it already.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument, with_argument
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...rewriting import rewriting_call
from ...subclass import is_made_of
from .mysql_query import begins_by, mysql_at
from .sql_call import ON_CONNECTION, Database, begin_query
from .sql_cursor import around_awaited_query
from .sql_subclass import traced_cursor

_NAME = "Mysql/PyMsql/"


def _hook(module: Any, patches: Patches) -> None:
    begins = begins_by(_NAME, _database_of_cursor)

    default, unbuffered = module.cursors.Cursor, module.cursors.SSCursor
    ours: dict[type, Any] = {}
    known: dict[str, Any] = module.cursors.__dict__
    for name, cursor in list(known.items()):
        if isinstance(cursor, type) and issubclass(cursor, default) and not issubclass(cursor, unbuffered):
            ours[cursor] = traced_cursor(cursor, cursor, begins, around_awaited_query, slots=())
            patches.set(module.cursors, name, ours[cursor])

    @lru_cache(64)
    def cursor_class(base: type) -> Any:
        return ours.get(base) or traced_cursor(base, default, begins, around_awaited_query, slots=())

    def with_class(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        connection = argument(args, kwargs, 0, "self")
        chosen = argument(args, kwargs, 1, "cursor") or connection._cursor_cls  # noqa: SLF001
        if not isinstance(chosen, type) or not issubclass(chosen, default):
            return args, kwargs
        if chosen is unbuffered or any(is_made_of(chosen, each) for each in ours.values()):
            return args, kwargs
        return with_argument(args, kwargs, 1, "cursor", cursor_class(chosen))

    patches.wrap(module.connection.Connection, "cursor", rewriting_call(with_class))
    patches.wrap(module.connection.Connection, "query", around_awaited_query(_begin_unbuffered))


def _begin_unbuffered(connection: Any, args: Args, kwargs: Kwargs) -> Span | None:
    is_unbuffered = args[1] if len(args) > 1 else kwargs.get("unbuffered")
    if not is_unbuffered:
        return None
    return begin_query(_NAME + "execute", _database_of(connection), args[0] if args else kwargs.get("sql"))


def _database_of_cursor(cursor: Any) -> Database | None:
    connection = cursor.connection
    return None if connection is None else _database_of(connection)


def _database_of(connection: Any) -> Database:
    found: Database | None = connection.__dict__.get(ON_CONNECTION)
    if found is None:
        place = connection._unix_socket, connection._host, connection._port, connection._db  # noqa: SLF001
        found = connection.__dict__[ON_CONNECTION] = mysql_at(Component.PYMYSQL, *place)
    return found


INSTRUMENTATION = Instrumentation(
    name="asyncmy",
    module="asyncmy",
    hook=_hook,
    versions=">=0.2.5,<0.3",
)
