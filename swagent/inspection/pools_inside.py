"""The internals of connection pools that are looked at: whether one is full, and how many connections are in use.

Few libraries have a public way to ask that. Each `..._is_full` is asked in every call for a connection, so it takes the
attributes directly; a library that has renamed one is left alone by that, and the tests look for each name.
"""

from __future__ import annotations

from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

from ..thread_frames import caller_of
from .frames import place_of
from .touched import Attribute, Function, Library, Local

_WAITS = "how long a request waited for a connection of its pool"
_LIMITLESS = 2**31 - 1
_FRAMES = 8

_SQLALCHEMY = Library("sqlalchemy", ">=2,<3")
_QUEUE_POOL = "sqlalchemy.pool.impl:QueuePool"
QUEUE_OF_SQLALCHEMY = Attribute(_SQLALCHEMY, _QUEUE_POOL, "_pool", _WAITS)
OVERFLOW_OF_SQLALCHEMY = Attribute(_SQLALCHEMY, _QUEUE_POOL, "_overflow", _WAITS)
MAX_OVERFLOW_OF_SQLALCHEMY = Attribute(_SQLALCHEMY, _QUEUE_POOL, "_max_overflow", _WAITS)
CONNECTIONS_OF_SQLALCHEMY = Attribute(_SQLALCHEMY, "sqlalchemy.util.queue:Queue", "queue", _WAITS)
GET_OF_SQLALCHEMY = Attribute(_SQLALCHEMY, _QUEUE_POOL, "_do_get", _WAITS)

_ASYNCPG = Library("asyncpg", ">=0.25,<0.33")
QUEUE_OF_ASYNCPG = Attribute(_ASYNCPG, "asyncpg.pool:Pool", "_queue", _WAITS)
HOLDERS_OF_ASYNCPG = Attribute(_ASYNCPG, "asyncpg.pool:Pool", "_holders", _WAITS)
SIZE_OF_ASYNCPG = Attribute(_ASYNCPG, "asyncpg.pool:Pool", "_maxsize", _WAITS)
ACQUIRE_OF_ASYNCPG = Attribute(_ASYNCPG, "asyncpg.pool:Pool", "_acquire", _WAITS)
CONNECTION_OF_ASYNCPG = Attribute(_ASYNCPG, "asyncpg.pool:PoolConnectionHolder", "_con", _WAITS)

_PSYCOPG = Library("psycopg-pool", ">=3.1,<4")
IDLE_OF_PSYCOPG = Attribute(_PSYCOPG, "psycopg_pool.base:BasePool", "_pool", _WAITS)
SIZE_OF_PSYCOPG = Attribute(_PSYCOPG, "psycopg_pool.base:BasePool", "_nconns", _WAITS)


class HttpcoreNames(NamedTuple):
    """Of httpcore, or of httpcore2, which has the same ones."""

    pool: Local
    pool_sync: Local
    connections: Attribute
    limit: Attribute
    wait: Attribute
    waits: dict[str, str]
    """The classes of the requests that wait, by their modules."""


def _names_of_httpcore(name: str, versions: str) -> HttpcoreNames:
    library, module, module_sync = (
        Library(name, versions),
        f"{name}._async.connection_pool",
        f"{name}._sync.connection_pool",
    )
    handle = Function(library, module, "AsyncConnectionPool.handle_async_request", _WAITS)
    handle_sync = Function(library, module_sync, "ConnectionPool.handle_request", _WAITS)
    pool = f"{module}:AsyncConnectionPool"
    return HttpcoreNames(
        Local(handle, "self"),
        Local(handle_sync, "self"),
        Attribute(library, pool, "_connections", _WAITS, versions=">=1"),
        Attribute(library, pool, "_max_connections", _WAITS),
        Attribute(library, f"{module}:AsyncPoolRequest", "wait_for_connection", _WAITS, versions=">=1"),
        {module: "AsyncPoolRequest", module_sync: "PoolRequest"},
    )


HTTPCORE = _names_of_httpcore("httpcore", ">=0.17,<2")
HTTPCORE2 = _names_of_httpcore("httpcore2", ">=2,<3")
_POOLS_OF_HTTPCORE = {local.place: local for each in (HTTPCORE, HTTPCORE2) for local in (each.pool, each.pool_sync)}

_AIOHTTP = Library("aiohttp", ">=3.8.6,<4")
_CONNECTOR = "aiohttp.connector:BaseConnector"
WAIT_OF_AIOHTTP = Attribute(_AIOHTTP, _CONNECTOR, "_wait_for_available_connection", _WAITS, versions=">=3.11")
ACQUIRED_OF_AIOHTTP = Attribute(_AIOHTTP, _CONNECTOR, "_acquired", _WAITS)
ACQUIRED_PER_HOST_OF_AIOHTTP = Attribute(_AIOHTTP, _CONNECTOR, "_acquired_per_host", _WAITS)
CONNECTIONS_OF_AIOHTTP = Attribute(_AIOHTTP, _CONNECTOR, "_conns", _WAITS)

_REDIS = Library("redis", ">=4.5,<9")
IN_USE_OF_REDIS = Attribute(_REDIS, "redis.connection:ConnectionPool", "_in_use_connections", _WAITS)
IDLE_OF_REDIS = Attribute(_REDIS, "redis.connection:ConnectionPool", "_available_connections", _WAITS)
CONNECTIONS_OF_REDIS = Attribute(_REDIS, "redis.connection:BlockingConnectionPool", "_connections", _WAITS)
QUEUE_OF_REDIS = Attribute(_REDIS, "redis.connection:BlockingConnectionPool", "pool", _WAITS)

_PYMONGO = Library("pymongo", ">=4.1,<5")
GET_OF_PYMONGO = Attribute(_PYMONGO, "pymongo.pool:Pool", "_get_conn", _WAITS, versions=">=4.4")

_AIOMYSQL = Library("aiomysql", ">=0.1.1,<0.4")
FREE_OF_AIOMYSQL = Attribute(_AIOMYSQL, "aiomysql.pool:Pool", "_free", _WAITS)
ACQUIRE_OF_AIOMYSQL = Attribute(_AIOMYSQL, "aiomysql.pool:Pool", "_acquire", _WAITS)
ARGUMENTS_OF_AIOMYSQL = Attribute(_AIOMYSQL, "aiomysql.pool:Pool", "_conn_kwargs", _WAITS)


def sqlalchemy_is_full(pool: Any) -> bool:
    """Whether a call for a connection of a queue pool has to wait."""
    if pool._overflow < pool._max_overflow:  # noqa: SLF001
        return False
    queue = pool._pool  # noqa: SLF001
    # `qsize` takes the lock of a queue of threads; that of an asynchronous engine has none
    idle = getattr(queue, "queue", None)
    return not (queue.qsize() if idle is None else idle) and pool._max_overflow > -1  # noqa: SLF001


def asyncpg_is_full(pool: Any) -> bool:
    """The same of asyncpg's pool."""
    queue = pool._queue  # noqa: SLF001
    return queue is not None and queue.empty()


def psycopg_is_full(pool: Any) -> bool:
    """The same of psycopg's. It makes connections in the background, and is full until one is there."""
    return not pool._pool  # noqa: SLF001


def httpcore_is_full(request: Any) -> bool:
    """Whether a request of httpcore's has to wait: the pool has been asked, and has none."""
    return request.connection is None


def redis_is_full(pool: Any) -> bool:
    """The same of a blocking pool of Redis's. That of asyncio has no queue since its version 5."""
    queue = getattr(pool, "pool", None)
    if queue is not None:
        return not queue.qsize()
    return not pool._available_connections and len(pool._in_use_connections) >= pool.max_connections  # noqa: SLF001


def pymongo_is_full(pool: Any) -> bool:
    """The same of pymongo's pool."""
    return bool(pool.requests >= pool.max_pool_size)


def aiomysql_is_full(pool: Any) -> bool:
    """The same of aiomysql's pool."""
    return not pool._free and bool(pool.maxsize) and pool.size >= pool.maxsize  # noqa: SLF001


def pool_of_httpcore(frame: FrameType | None) -> Any:
    """The pool for which a request waits; None: it cannot be seen.

    :param frame: within the function that waits
    """
    for _ in range(_FRAMES):
        if frame is None:
            break
        local = _POOLS_OF_HTTPCORE.get(place_of(frame))
        if local is not None:
            return local.of(frame)
        frame = caller_of(frame)
    return None


def limit_of(most: Any) -> int | None:
    """A limit that libraries write as a number; None: it is none."""
    return int(most) if most and most < _LIMITLESS else None


def first_of(things: Any, most: int) -> list[Any]:
    """So many of a collection that another thread may change meanwhile."""
    return list(islice(tuple(things), most))
