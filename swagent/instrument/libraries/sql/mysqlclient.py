"""mysqlclient: its cursors' methods that take statements. A connection is asked at its start where it leads: most
versions do not remember."""

from __future__ import annotations

from typing import Any

from ....record.trace.model import Component
from ...arguments import Args, Kwargs
from ...instrumentation import Instrumentation
from ...looking import after_call
from ...patches import Patches
from .mysql_query import cursor_hook, mysql_at
from .sql_call import ON_CONNECTION, Database
from .sql_cursor import around_query


def _database_of(cursor: Any) -> Database | None:
    found: Database | None = getattr(cursor.connection, ON_CONNECTION, None)
    return found


_hook_cursors = cursor_hook("BaseCursor", "Mysql/MysqlClient/", _database_of, around_query)


def _hook(module: Any, patches: Patches) -> None:
    if hasattr(module, "BaseCursor"):
        _hook_cursors(module, patches)
    else:
        patches.wrap(module.Connection, "__init__", after_call(_note_made))


def _note_made(connection: Any, _: object, args: Args, kwargs: Kwargs) -> None:
    _note_database(connection, *args, **kwargs)


def _note_database(
    connection: Any,
    host: Any = None,
    user: Any = None,  # noqa: ARG001
    password: Any = None,  # noqa: ARG001
    database: Any = None,
    port: Any = None,
    unix_socket: Any = None,
    **kwargs: Any,
) -> None:
    name = database or kwargs.get("db")
    setattr(connection, ON_CONNECTION, mysql_at(Component.MYSQLCLIENT, unix_socket, host, port, name))


INSTRUMENTATION = Instrumentation(
    name="mysqlclient",
    module="MySQLdb.cursors",
    also=("MySQLdb.connections",),
    hook=_hook,
    distribution="mysqlclient",
    versions=">=2.1,<3",
    plugins=("sw_mysqlclient",),
    opentelemetry=("mysqlclient",),
)
