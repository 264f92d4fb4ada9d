"""aiomysql: its cursors' methods that take statements."""

from __future__ import annotations

from ...instrumentation import Instrumentation
from .mysql_query import cursor_hook, database_of_pymysql
from .sql_cursor import around_query

INSTRUMENTATION = Instrumentation(
    name="aiomysql",
    module="aiomysql.cursors",
    hook=cursor_hook("Cursor", "Mysql/PyMsql/", database_of_pymysql, around_query),
    versions=">=0.1.1,<0.4",
    opentelemetry=("aiomysql",),
)
