"""The names of the package itself: components, layers, kinds of spans, logs."""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from typing import NamedTuple


class Component(enum.Enum):
    """The libraries that spans name, by the official agent's names."""

    Unknown = 0
    Redis = 7
    MongoDB = 9
    PostgreSQL = 22
    Grpc = 23
    KafkaProducer = 40
    KafkaConsumer = 41
    Elasticsearch = 47
    RabbitmqProducer = 52
    RabbitmqConsumer = 53
    PulsarProducer = 73
    PulsarConsumer = 74
    HBase = 94
    Neo4j = 112
    General = 7000
    Flask = 7001
    Requests = 7002
    PyMysql = 7003
    Django = 7004
    Tornado = 7005
    Urllib3 = 7006
    Sanic = 7007
    AioHttp = 7008
    Pyramid = 7009
    Psycopg = 7010
    Celery = 7011
    Falcon = 7012
    MysqlClient = 7013
    FastAPI = 7014
    Bottle = 7015
    AsyncPG = 7016
    AIORedis = 7017
    Websockets = 7018
    HTTPX = 7019


class Layer(enum.Enum):
    """What kind of thing a span is about."""

    Unknown = 0
    Database = 1
    RPCFramework = 2
    Http = 3
    MQ = 4
    Cache = 5


class Kind(enum.Enum):
    """What a span is to its process. The numbers are not those of the protocol."""

    Local = 0
    Entry = 1
    Exit = 2

    @property
    def is_local(self) -> bool:
        """Whether it is work inside of this process."""
        return self is Kind.Local

    @property
    def is_entry(self) -> bool:
        """Whether it came in."""
        return self is Kind.Entry

    @property
    def is_exit(self) -> bool:
        """Whether it goes out."""
        return self is Kind.Exit


class LogItem(NamedTuple):
    """A field of a span's log."""

    key: str
    val: str


class Log:
    """An entry of a span's log."""

    def __init__(self, timestamp: float | None = None, items: Sequence[LogItem] | None = None) -> None:
        """:param timestamp: seconds since the epoch; now, when left out"""
        self.timestamp = time.time() if timestamp is None else timestamp
        self.items = [*items] if items else []
