"""happybase: what is asked of a table of HBase, a batch that is sent, and a scan from its first row to its last.

A scan is open, and not active, while the application works on its rows. A call inside another call, as the batch is
of a `put`, is a part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....record.limits import as_text, short
from ....record.trace.model import Component
from ....record.trace.span import Span
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...wrapping import Begin, Lasting, around_call
from ..sql.sql_call import Database, begin_query, database_at

_OF_TABLES = ("row", "rows", "cells", "put", "delete", "counter_get", "counter_set", "counter_inc")


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "happybase.batch":
        patches.wrap(module.Batch, "send", around_call(_begin_batch))
        return
    for operation in _OF_TABLES:
        patches.wrap(module.Table, operation, around_call(_beginning(operation)))
    patches.wrap(module.Table, "scan", _around_scan)


def _beginning(operation: str) -> Begin:
    return lambda table, _, __: _begin(operation, table)


def _begin_batch(batch: Any, *_: object) -> Span | None:
    return _begin("batch", batch._table)  # noqa: SLF001  (nothing public has it)


def _around_scan(scan: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with Lasting(safely(_begin, "scan", self)):
            yield from scan(self, *args, **kwargs)

    return traced


def _begin(operation: str, table: Any) -> Span | None:
    return begin_query(f"HBase/{operation}", _database_of(table))


def _database_of(table: Any) -> Database:
    connection = table.connection
    # the table is what HBase has nearest to a database
    return database_at("HBase", Component.HBASE, as_text(connection.host), connection.port, short(_name_of(table)))


def _name_of(table: Any) -> str:
    name = table.name
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else as_text(name)


INSTRUMENTATION = Instrumentation(
    name="happybase",
    module="happybase.table",
    also=("happybase.batch",),
    hook=_hook,
    versions=">=1.2,<2",
    plugins=("sw_happybase",),
)
