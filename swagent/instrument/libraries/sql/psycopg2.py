"""psycopg2: `connect`, whose connections make cursors that record.

Its connections and cursors are types of C, whose methods cannot be replaced: subclasses of them take their place, and
of those that the application brings along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arguments import Args, Kwargs, argument, with_argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from .psycopg import database_of
from .sql_cursor import begin_by, begin_copy_by, begin_procedure_by
from .sql_subclass import Cursors, between, chooser, traced_connection, traced_cursor

_NAME = "PostgreSQL/Psycopg/"
_FACTORY = "connection_factory"


def _hook(module: Any, patches: Patches) -> None:
    extensions = module.extensions
    begins = {name: begin_by(_NAME + name, database_of) for name in ("execute", "executemany")}
    begins["callproc"] = begin_procedure_by(_NAME + "callproc", database_of)
    for name in ("copy_expert", "copy_from", "copy_to"):
        begins[name] = begin_copy_by(_NAME + "copy", database_of)

    connection, cursor = extensions.connection, extensions.cursor
    cursors = traced_cursor(cursor, cursor, begins)
    cursor_class = chooser(cursor, cursors, lambda base: traced_cursor(base, cursor, begins))
    connections = traced_connection(connection, Cursors("cursor_factory", 1, cursor, cursor_class))
    connection_class = chooser(connection, connections, lambda base: between(base, connections))

    def with_factory(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        factory = argument(args, kwargs, 1, _FACTORY) or connection
        # a function makes what it likes
        if not isinstance(factory, type) or not issubclass(factory, connection):
            return args, kwargs
        return with_argument(args, kwargs, 1, _FACTORY, connection_class(factory))

    def around_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = safely(with_factory, args, kwargs) or (args, kwargs)
            return connect(*args, **kwargs)

        return traced

    patches.wrap(module, "connect", around_connect)
    patches.set(extensions, "connection", connections)
    patches.set(extensions, "cursor", cursors)


INSTRUMENTATION = Instrumentation(
    name="psycopg2",
    module="psycopg2",
    hook=_hook,
    distribution="psycopg2-binary psycopg2",
    versions=">=2.9.3,<3",
    plugins=("sw_psycopg2",),
    opentelemetry=("psycopg2",),
)
