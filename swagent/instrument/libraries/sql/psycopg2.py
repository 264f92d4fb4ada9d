"""psycopg2: `connect`, whose connections make cursors that record.

Its connections and cursors are types of C, whose methods cannot be replaced: subclasses of them take their place, and
of those that the application brings along.
"""

from __future__ import annotations

from typing import Any

from ...instrumentation import Instrumentation
from ...patches import Patches
from ...rewriting import rewriting_argument
from .psycopg import database_of
from .sql_call import ON_CONNECTION
from .sql_cursor import begin_by, begin_copy_by, begin_procedure_by
from .sql_subclass import Cursors, between, chooser, traced_connection, traced_cursor

_NAME = "PostgreSQL/Psycopg/"


def _hook(module: Any, patches: Patches) -> None:
    extensions = module.extensions
    begins = {name: begin_by(_NAME + name, database_of) for name in ("execute", "executemany")}
    begins["callproc"] = begin_procedure_by(_NAME + "callproc", database_of)
    for name in ("copy_expert", "copy_from", "copy_to"):
        begins[name] = begin_copy_by(_NAME + "copy", database_of)

    connection, cursor = extensions.connection, extensions.cursor
    cursors = traced_cursor(cursor, cursor, begins, slots=())
    cursor_class = chooser(cursor, cursors, lambda base: traced_cursor(base, cursor, begins, slots=()))
    choice = Cursors("cursor_factory", 1, cursor, cursor_class)
    connections = traced_connection(connection, choice, slots=(ON_CONNECTION,))
    connection_class = chooser(connection, connections, lambda base: between(base, connections))

    def choose(factory: Any) -> Any:
        chosen = connection if factory is None else factory
        # a function makes what it likes
        return connection_class(chosen) if isinstance(chosen, type) and issubclass(chosen, connection) else factory

    patches.wrap(module, "connect", rewriting_argument(1, "connection_factory", choose))
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
