"""SQLAlchemy, over any driver, synchronous or not: one span for what a connection executes.

It is around all that SQLAlchemy does for a statement, so that the driver's own instrumentation finds a call under way;
what a result fetches later from the server is no part of it. Of an error it shows what the driver said, without the
statement and the parameters that SQLAlchemy adds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..record.trace.model import Component
from ..record.trace.span import Span
from .instrumentation import Instrumentation
from .patches import Patches
from .sql_call import Database, begin_query, database_at
from .sql_cursor import around_query


class _System(NamedTuple):
    type: str
    component: Component
    port: int | None


_SYSTEMS = {
    "postgresql": _System("PostgreSQL", Component.POSTGRESQL, 5432),
    "mysql": _System("Mysql", Component.MYSQL, 3306),
    "mariadb": _System("Mysql", Component.MYSQL, 3306),
    "sqlite": _System("SQLite", Component.SQLITE, None),
    "oracle": _System("ORACLE", Component.ORACLE, 1521),
    "mssql": _System("SqlServer", Component.SQLSERVER, 1433),
}
_DRIVERS = {
    "asyncpg": Component.ASYNCPG,
    "psycopg": Component.PSYCOPG,
    "psycopg_async": Component.PSYCOPG,
    "psycopg2": Component.PSYCOPG,
    "pymysql": Component.PYMYSQL,
    "aiomysql": Component.PYMYSQL,
    "asyncmy": Component.PYMYSQL,
    "mysqldb": Component.MYSQLCLIENT,
}


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(module.Connection, "_execute_context", around_query(_begin))


def _begin(connection: Any, args: tuple[Any, ...], _: dict[str, Any]) -> Span | None:
    # the dialect, what makes the context, the statement, and its parameters
    statement, parameters = args[2], args[3]
    name, database = _describe(connection.engine.url, connection.dialect.name, connection.dialect.driver)
    # compiled: by its text
    return begin_query(name, database, getattr(statement, "string", statement), parameters)


@lru_cache(256)
def _describe(url: Any, dialect: str, driver: str) -> tuple[str, Database]:
    system = _SYSTEMS.get(dialect) or _System(dialect, Component.UNKNOWN, None)
    component = _DRIVERS.get(driver, system.component)
    name = f"{system.type}/SQLAlchemy/execute"
    database = url.database or ""
    if dialect == "sqlite":
        file = database.rpartition("/")[2] or ":memory:"
        return name, database_at(system.type, component, file, None)
    host = url.host or url.query.get("host") or url.query.get("unix_socket") or "localhost"
    return name, database_at(
        system.type, component, host if isinstance(host, str) else host[0], _port(url, system), database
    )


def _port(url: Any, system: _System) -> object:
    return url.port or system.port


INSTRUMENTATION = Instrumentation(
    name="sqlalchemy",
    module="sqlalchemy.engine.base",
    hook=_hook,
    distribution="SQLAlchemy",
    versions=">=1.4,<2.2",
    opentelemetry=("sqlalchemy",),
)
