"""The connection pools of SQLAlchemy, asyncpg, psycopg and aiomysql, by their databases."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ....inspection import pools_inside
from ....self_meters.pools import POOLS, Reading
from ...address import place_of
from ...looking import after_call
from ...patches import Patches
from ...pool_waits import Acquired, PoolKind, report_pools, watch_pools
from .sql_call import Database

_LABEL = "_swagent_pool"
_MOST_HOLDERS = 20


def label_of(database: Database) -> str:
    """The name of a pool of a database's connections: `host:port/database`."""
    name = dict(database.tags).get("db.instance", "")
    return f"{database.peer}/{name}" if name and name != database.peer else database.peer


# -- SQLAlchemy -------------------------------------------------------------------------------------------------------


def watch_sqlalchemy(patches: Patches, queue_pool: Any) -> None:
    """Record the waits for pools of this class and those that are made of it."""
    watch_pools(patches, queue_pool, "_do_get", _SQLALCHEMY)
    patches.wrap(queue_pool, "recreate", after_call(_recreated))


def note_engine(engine: Any, database: Database) -> None:
    """Know where the connections of an engine's pool lead, once that is known of the engine."""
    _note_sqlalchemy(engine.pool, label_of(database))


def _note_sqlalchemy(pool: Any, label: str) -> None:
    if hasattr(pool, "_max_overflow"):  # others have no limit
        pool.__dict__[_LABEL] = label
        POOLS.watch(pool, _read_sqlalchemy)


def _recreated(pool: Any, new: Any, *_: object) -> None:
    label = pool.__dict__.get(_LABEL)
    if label is not None:
        _note_sqlalchemy(new, label)


def _read_sqlalchemy(pool: Any) -> Reading:
    more = pools_inside.MAX_OVERFLOW_OF_SQLALCHEMY.of(pool, -1)
    limit = pool.size() + more if more >= 0 else None
    return Reading(pool.__dict__.get(_LABEL, "SQLAlchemy"), max(pool.checkedout(), 0), pool.checkedin(), limit)


_SQLALCHEMY = PoolKind(pools_inside.sqlalchemy_is_full, _read_sqlalchemy)


# -- asyncpg ----------------------------------------------------------------------------------------------------------


def watch_asyncpg(patches: Patches, pool: Any, database_of: Any) -> None:
    """Record the waits for pools of this class. Only its holders of connections can be referred to weakly."""

    def read(holder: Any) -> Reading:
        own = holder._pool  # noqa: SLF001
        limit = int(pools_inside.SIZE_OF_ASYNCPG.of(own, 0))
        queue = pools_inside.QUEUE_OF_ASYNCPG.of(own)
        holders = pools_inside.first_of(pools_inside.HOLDERS_OF_ASYNCPG.of(own, ()), _MOST_HOLDERS)
        connections = (pools_inside.CONNECTION_OF_ASYNCPG.of(each) for each in holders)
        database = next((database_of(each) for each in connections if each is not None), None)
        label = label_of(database) if database is not None else "asyncpg"
        return Reading(label, limit - queue.qsize(), own.get_idle_size(), limit)

    def find(own: Any, *_: object) -> Acquired:
        holder = pools_inside.HOLDERS_OF_ASYNCPG.of(own)[0]
        return holder, read(holder)

    def initialised(own: Any, *_: object) -> None:
        holders = pools_inside.HOLDERS_OF_ASYNCPG.of(own)
        if holders:
            POOLS.watch(holders[0], read)

    watch_pools(patches, pool, "_acquire", PoolKind(pools_inside.asyncpg_is_full, read, find))
    if hasattr(pool, "_initialize"):
        patches.wrap(pool, "_initialize", after_call(initialised))


# -- psycopg ----------------------------------------------------------------------------------------------------------


def watch_psycopg(patches: Patches, module: Any) -> None:
    """Record the waits for the pools of `psycopg_pool`."""
    for pool in (module.ConnectionPool, module.AsyncConnectionPool):
        watch_pools(patches, pool, "getconn", _PSYCOPG)
        report_pools(patches, pool, _read_psycopg)


def _read_psycopg(pool: Any) -> Reading:
    label = pool.__dict__.get(_LABEL)
    if label is None:
        label = pool.__dict__[_LABEL] = _label_of_psycopg(pool)
    idle, there = len(pools_inside.IDLE_OF_PSYCOPG.of(pool, ())), int(pools_inside.SIZE_OF_PSYCOPG.of(pool, 0))
    return Reading(label, max(there - idle, 0), idle, pool.max_size)


def _label_of_psycopg(pool: Any) -> str:
    """By what it connects with; functions that say so are not called for this."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415, RUF100

    said: dict[str, Any] = {}
    with suppress(Exception):  # a wrong text, of which the pool complains itself
        said.update(conninfo_to_dict(pool.conninfo or ""))
        said.update(pool.kwargs or {})
    host = str(said.get("host") or said.get("hostaddr") or "localhost")
    port = None if host.startswith("/") else int(said.get("port") or 5432)
    name = said.get("dbname") or said.get("user")
    return f"{place_of(host, port)}/{name}" if name else place_of(host, port)


_PSYCOPG = PoolKind(pools_inside.psycopg_is_full, _read_psycopg)


# -- aiomysql ---------------------------------------------------------------------------------------------------------


def watch_aiomysql(patches: Patches, pool: Any) -> None:
    """Record the waits for pools of this class."""
    watch_pools(patches, pool, "_acquire", _AIOMYSQL)
    report_pools(patches, pool, _read_aiomysql)


def _read_aiomysql(pool: Any) -> Reading:
    said = pools_inside.ARGUMENTS_OF_AIOMYSQL.of(pool, {})
    socket = said.get("unix_socket")
    place = place_of(socket, None) if socket else place_of(said.get("host") or "localhost", said.get("port") or 3306)
    name = said.get("db") or said.get("database")
    label = f"{place}/{name}" if name else place
    return Reading(label, pool.size - pool.freesize, pool.freesize, pools_inside.limit_of(pool.maxsize))


_AIOMYSQL = PoolKind(pools_inside.aiomysql_is_full, _read_aiomysql)
