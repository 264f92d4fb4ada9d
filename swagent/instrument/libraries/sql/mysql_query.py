"""The common parts of the drivers of MySQL: the methods of their cursors, and where their connections lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....record.trace.model import Component
from ...instrumentation import Hook
from ...patches import Patches
from .sql_call import Database, database_at
from .sql_cursor import Begin, Make, begin_by, begin_procedure_by

DatabaseOf = Callable[[Any], "Database | None"]


def begins_by(name: str, database_of: DatabaseOf) -> dict[str, Begin]:
    """How the spans of a cursor's methods begin.

    :param name: what the spans' names begin with
    """
    begins = {method: begin_by(name + method, database_of) for method in ("execute", "executemany")}
    return {**begins, "callproc": begin_procedure_by(name + "callproc", database_of)}


def cursor_hook(cursor: str, name: str, database_of: DatabaseOf, around: Callable[[Begin], Make]) -> Hook:
    """The hook for a module with that class of cursors."""

    def hook(module: Any, patches: Patches) -> None:
        for method, begin in begins_by(name, database_of).items():
            patches.wrap(getattr(module, cursor), method, around(begin))

    return hook


def database_of_pymysql(cursor: Any) -> Database | None:
    """Where a cursor of PyMySQL leads, or of what is made after it; None: its connection is gone."""
    connection = cursor.connection
    if connection is None:
        return None
    return mysql_at(Component.PYMYSQL, connection.unix_socket, connection.host, connection.port, connection.db)


def mysql_at(component: Component, socket: Any, host: Any, port: Any, name: Any) -> Database:
    """Describe a database.

    :param socket: its path; empty: it is not asked by a socket
    """
    if socket:
        return database_at("Mysql", component, socket, None, name or "")
    return database_at("Mysql", component, host or "localhost", port or 3306, name or "")
