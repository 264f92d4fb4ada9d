"""psycopg2: `connect`, whose connections make cursors that record.

Its connections and cursors are types of C, whose methods cannot be replaced: subclasses of them take their place, and
of those that the application brings along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .call import safely
from .instrumentation import Instrumentation
from .patches import Patches
from .psycopg import database_of
from .sql_cursor import begin_by, begin_copy_by, begin_procedure_by
from .sql_subclass import Cursors, traced_connection, traced_cursor

_NAME = "PostgreSQL/Psycopg/"


def _hook(module: Any, patches: Patches) -> None:
    extensions = module.extensions
    begins = {name: begin_by(_NAME + name, database_of) for name in ("execute", "executemany")}
    begins["callproc"] = begin_procedure_by(_NAME + "callproc", database_of)
    for name in ("copy_expert", "copy_from", "copy_to"):
        begins[name] = begin_copy_by(_NAME + "copy", database_of)

    @lru_cache(64)
    def cursor_class(base: type) -> type:
        return traced_cursor(base, begins)

    @lru_cache(64)
    def connection_class(base: type) -> type:
        return traced_connection(
            base, extensions.connection, Cursors("cursor_factory", 1, extensions.cursor, cursor_class)
        )

    def around_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
        def traced(dsn: Any = None, connection_factory: Any = None, *args: Any, **kwargs: Any) -> Any:
            factory = extensions.connection if connection_factory is None else connection_factory
            # a function makes what it likes
            if isinstance(factory, type) and issubclass(factory, extensions.connection):
                connection_factory = safely(connection_class, factory) or connection_factory
            return connect(dsn, connection_factory, *args, **kwargs)

        return traced

    patches.wrap(module, "connect", around_connect)


INSTRUMENTATION = Instrumentation(
    name="psycopg2",
    module="psycopg2",
    hook=_hook,
    distribution="psycopg2 psycopg2-binary",
    versions=">=2.8,<3",
    plugins=("sw_psycopg2",),
    opentelemetry=("psycopg2",),
)
