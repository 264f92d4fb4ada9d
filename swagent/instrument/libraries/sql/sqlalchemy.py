"""SQLAlchemy, over any driver, synchronous or not: one span for what a connection executes.

It is around all that SQLAlchemy does for a statement, so that the driver's own instrumentation finds a call under way;
what a result fetches later from the server is no part of it. Of an error it shows what the driver said, without the
statement and the parameters that SQLAlchemy adds.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import is_setting_up
from ...instrumentation import Instrumentation
from ...looking import before_call
from ...patches import Patches
from .sql_call import Database, begin_query, database_at
from .sql_cursor import around_query
from .sql_pools import note_engine, watch_sqlalchemy

_PARAMETERS = 6


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
    # before its first query: others may wait for its pool already. Not when it is made: SQLAlchemy takes the names of
    # its arguments from the code of `Engine.__init__`.
    patches.wrap(module.Engine, "raw_connection", before_call(_connecting))
    record = getattr(import_module("sqlalchemy.pool.base"), "_ConnectionRecord", None)
    if record is not None:
        patches.wrap(record, "__init__", _around_connect)
    watch_sqlalchemy(patches, import_module("sqlalchemy.pool.impl").QueuePool)


def _around_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    """A new connection asks the server, by the driver, for what the dialect must know: no query of the application."""

    def traced(*args: Any, **kwargs: Any) -> Any:
        token = is_setting_up.set(True)
        try:
            return connect(*args, **kwargs)
        finally:
            is_setting_up.reset(token)

    return traced


def _begin(connection: Any, args: Args, kwargs: Kwargs) -> Span | None:
    # the dialect, what makes the context, the statement, its parameters, options, and what the context is made of
    statement, parameters = argument(args, kwargs, 2, "statement"), argument(args, kwargs, 3, "parameters")
    if parameters is None and len(args) > _PARAMETERS:
        parameters = args[_PARAMETERS]
    engine = connection.engine
    known: tuple[str, Database] | None = engine.__dict__.get("_swagent_database")
    if known is None:
        known = _know(engine)
    # compiled: by its text
    return begin_query(known[0], known[1], getattr(statement, "string", statement), parameters)


def _connecting(engine: Any, *_: object) -> None:
    if "_swagent_database" not in engine.__dict__:
        _know(engine)


def _know(engine: Any) -> tuple[str, Database]:
    known = engine.__dict__["_swagent_database"] = _describe(engine.url, engine.dialect)
    note_engine(engine, known[1])
    return known


def _describe(url: Any, dialect: Any) -> tuple[str, Database]:
    system = _SYSTEMS.get(dialect.name) or _System(dialect.name, Component.UNKNOWN, None)
    component = _DRIVERS.get(dialect.driver, system.component)
    name = f"{system.type}/SQLAlchemy/execute"
    database = url.database or ""
    if dialect.name == "sqlite":
        return name, database_at(system.type, component, database.rpartition("/")[2] or ":memory:", None)
    host = url.host or url.query.get("host") or url.query.get("unix_socket") or "localhost"
    host = host if isinstance(host, str) else host[0]
    return name, database_at(system.type, component, host, url.port or system.port, database)


INSTRUMENTATION = Instrumentation(
    name="sqlalchemy",
    module="sqlalchemy.engine.base",
    hook=_hook,
    distribution="SQLAlchemy",
    versions=">=2.0,<2.2",
    opentelemetry=("sqlalchemy",),
)
