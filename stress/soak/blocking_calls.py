"""The calls of libraries that block, each over a connection of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from .servers import Servers

Blocking = Callable[[], object]
QUERY = "SELECT 1"


def open_blocking(stack: ExitStack, servers: Servers, names: Iterable[str] = ()) -> list[Blocking]:
    """Connect.

    :param names: of libraries; none: all that are here
    """
    return [_OPENERS[name](stack, servers) for name in names or _OPENERS]


def _requests(stack: ExitStack, servers: Servers) -> Blocking:
    import requests

    session = stack.enter_context(requests.Session())
    session.trust_env = False
    return lambda: session.get(servers.http, timeout=60).raise_for_status()


def _urllib3(stack: ExitStack, servers: Servers) -> Blocking:
    import urllib3

    pool = stack.enter_context(urllib3.PoolManager())
    return lambda: pool.request("GET", servers.http, timeout=60.0)


def _http_client(stack: ExitStack, servers: Servers) -> Blocking:
    connection = HTTPConnection(urlsplit(servers.http).netloc, timeout=60)
    stack.callback(connection.close)

    def call() -> bytes:
        connection.request("GET", "/")
        return connection.getresponse().read()

    return call


def _queries(stack: ExitStack, connection: Any) -> Blocking:
    """A query by a connection as PEP 249 has it."""
    stack.callback(connection.close)

    def query() -> object:
        cursor = connection.cursor()
        try:
            cursor.execute(QUERY)
            return cursor.fetchall()
        finally:
            cursor.close()

    return query


def _pymysql(stack: ExitStack, servers: Servers) -> Blocking:
    import pymysql

    return _queries(stack, pymysql.connect(host="127.0.0.1", port=servers.mariadb, user="root", autocommit=True))


def _psycopg(stack: ExitStack, servers: Servers) -> Blocking:
    import psycopg

    return _queries(stack, psycopg.connect(servers.postgres, autocommit=True))


def _psycopg2(stack: ExitStack, servers: Servers) -> Blocking:
    import psycopg2

    connection = psycopg2.connect(servers.postgres)
    connection.autocommit = True
    return _queries(stack, connection)


def _sqlite(stack: ExitStack, servers: Servers) -> Blocking:  # noqa: ARG001  (it needs none)
    return _queries(stack, sqlite3.connect(":memory:", check_same_thread=False))


def _sqlalchemy(stack: ExitStack, servers: Servers) -> Blocking:
    from sqlalchemy import create_engine, text

    engine = create_engine(servers.postgres.replace("postgresql:", "postgresql+psycopg2:"), pool_size=1)
    stack.callback(engine.dispose)

    def query() -> object:
        with engine.connect() as connection:
            return connection.execute(text(QUERY)).all()

    return query


def _redis(stack: ExitStack, servers: Servers) -> Blocking:
    from redis import Redis

    client = Redis(port=servers.redis)
    stack.callback(client.close)
    return lambda: client.incr("soak")


def _pika(stack: ExitStack, servers: Servers) -> Blocking:
    import pika

    parameters = pika.URLParameters(servers.rabbitmq)
    parameters.heartbeat = 0  # it could answer one only within a call
    connection = pika.BlockingConnection(parameters)
    stack.callback(connection.close)
    channel = connection.channel()
    return lambda: channel.basic_publish("", "soak", b"worked")


_OPENERS: dict[str, Callable[[ExitStack, Servers], Blocking]] = {
    "requests": _requests, "pymysql": _pymysql, "urllib3": _urllib3, "http.client": _http_client, "psycopg": _psycopg,
    "psycopg2": _psycopg2, "sqlite3": _sqlite, "sqlalchemy": _sqlalchemy, "redis": _redis, "pika": _pika,
}  # fmt: skip
