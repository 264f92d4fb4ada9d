"""aiomysql: its cursors' methods that take statements, and its pools."""

from __future__ import annotations

from typing import Any

from ...instrumentation import Instrumentation
from ...patches import Patches
from .mysql_query import cursor_hook, database_of_pymysql
from .sql_cursor import around_query
from .sql_pools import watch_aiomysql

_POOLS = "aiomysql.pool"
_cursors = cursor_hook("Cursor", "Mysql/PyMsql/", database_of_pymysql, around_query)


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _POOLS:
        watch_aiomysql(patches, module.Pool)
    else:
        _cursors(module, patches)


INSTRUMENTATION = Instrumentation(
    name="aiomysql",
    module="aiomysql.cursors",
    hook=_hook,
    versions=">=0.1.1,<0.4",
    also=(_POOLS,),
    opentelemetry=("aiomysql",),
)
