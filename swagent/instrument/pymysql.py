"""PyMySQL: its cursors' methods that take statements."""

from __future__ import annotations

from typing import Any

from ..record.trace.model import Component
from .instrumentation import Instrumentation
from .mysql_query import cursor_hook, mysql_at
from .sql_call import Database
from .sql_cursor import around_query


def _database_of(cursor: Any) -> Database | None:
    connection = cursor.connection
    if connection is None:
        return None
    return mysql_at(Component.PYMYSQL, connection.unix_socket, connection.host, connection.port, connection.db)


INSTRUMENTATION = Instrumentation(
    name="pymysql",
    module="pymysql.cursors",
    hook=cursor_hook("Cursor", "Mysql/PyMsql/", _database_of, around_query),
    versions=">=1.0,<2",
    plugins=("sw_pymysql",),
    opentelemetry=("pymysql",),
)
