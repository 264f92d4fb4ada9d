"""psycopg 3: what its cursors do, synchronous and not, streams and COPY among it.

A server-side cursor's span is that of its `execute`. A stream and a COPY last as long as the application takes the rows
or gives the data; meanwhile their span is open, and not the active one. In a pipeline, `execute` only sends: its span
ends with that, and what the server has against it is raised elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ....record.trace.model import Component
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...wrapping import Lasting
from .sql_call import ON_CONNECTION, Database, database_at
from .sql_cursor import around_query, begin_by
from .sql_error import end_query
from .sql_pools import watch_psycopg

_POOLS = "psycopg_pool"


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _POOLS:
        watch_psycopg(patches, module)
        return
    for cursor in (module.Cursor, module.ServerCursor, module.AsyncCursor, module.AsyncServerCursor):
        patches.wrap(cursor, "execute", around_query(_begin_execute))
    for cursor in (module.Cursor, module.AsyncCursor):
        patches.wrap(cursor, "executemany", around_query(_begin_many))
    patches.wrap(module.Cursor, "stream", _around_stream)
    patches.wrap(module.AsyncCursor, "stream", _around_async_stream)
    patches.wrap(module.Cursor, "copy", _around_copy)
    patches.wrap(module.AsyncCursor, "copy", _around_async_copy)


def database_of(cursor: Any) -> Database:
    """Where a cursor's connection leads, be it of psycopg or psycopg2."""
    connection = cursor.connection
    known: Database | None = getattr(connection, ON_CONNECTION, None)
    if known is None:
        # asking libpq takes as long as all the rest
        info = connection.info
        known = database_at("PostgreSQL", Component.PSYCOPG, info.host, info.port, info.dbname)
        # a class of the application may have a `__setattr__`
        object.__setattr__(connection, ON_CONNECTION, known)
    return known


_begin_execute = begin_by("PostgreSQL/Psycopg/execute", database_of)
_begin_many = begin_by("PostgreSQL/Psycopg/executemany", database_of)
_begin_stream = begin_by("PostgreSQL/Psycopg/stream", database_of)
_begin_copy = begin_by("PostgreSQL/Psycopg/copy", database_of)


def _around_stream(stream: Callable[..., Any]) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with Lasting(safely(_begin_stream, self, args, kwargs), end_query):
            yield from stream(self, *args, **kwargs)

    return traced


def _around_async_stream(stream: Callable[..., Any]) -> Callable[..., Any]:
    async def traced(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with Lasting(safely(_begin_stream, self, args, kwargs), end_query):
            rows = stream(self, *args, **kwargs)
            try:
                async for row in rows:
                    yield row
            finally:
                await rows.aclose()

    return traced


def _around_copy(copy: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def traced(self: Any, *args: Any, **kwargs: Any) -> Generator[Any, None, None]:
        with Lasting(safely(_begin_copy, self, args, kwargs), end_query), copy(self, *args, **kwargs) as copying:
            yield copying

    return traced


def _around_async_copy(copy: Callable[..., Any]) -> Callable[..., Any]:
    @asynccontextmanager
    async def traced(self: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        with Lasting(safely(_begin_copy, self, args, kwargs), end_query):
            async with copy(self, *args, **kwargs) as copying:
                yield copying

    return traced


INSTRUMENTATION = Instrumentation(
    name="psycopg",
    module="psycopg",
    hook=_hook,
    versions=">=3.1.8,<4",
    plugins=("sw_psycopg",),
    also=(_POOLS,),
    opentelemetry=("psycopg",),
)
