"""Real servers for whatever test asks for them: started when first asked for, one of each for the session.

A plugin and no part of a conftest.py, because a session's fixture that several folders import is made several times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import pytest

from kit.real.built_oap import FOLDER, BuiltOap
from kit.real.databases import Mariadb, Postgres
from kit.real.jars import UnavailableError
from kit.real.kafka import Kafka
from kit.real.oap import Oap
from kit.real.rabbitmq import RabbitMQ
from kit.real.redis import Redis, RedisCluster
from kit.real.server import Server

ServerT = TypeVar("ServerT", bound=Server)
TOKEN = "open sesame"


@pytest.fixture(scope="session")
def oap() -> Iterator[Oap]:
    """For tests that leave it running and distinguish their data by service names of their own."""
    with make_oap() as server:
        yield server


@pytest.fixture(scope="session")
def token_oap() -> Iterator[Oap]:
    """One that asks for `TOKEN`."""
    with make_oap(token=TOKEN) as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    with make(Kafka) as server:
        yield server


@pytest.fixture(scope="session")
def kafka_oap(kafka: Kafka) -> Iterator[Oap]:
    """An OAP that also fetches from `kafka`."""
    with make_oap(kafka=kafka.address) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with make(Postgres) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    with make(Redis) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Mariadb]:
    with make(Mariadb) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    with make(RedisCluster) as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMQ]:
    with make(RabbitMQ) as server:
        yield server


def make_oap(**options: Any) -> Oap:
    """An OAP of the released version, or the one that was built; not started yet.

    :param options: of `Oap`
    """
    return make(lambda: (BuiltOap if os.environ.get(FOLDER) else Oap)(**options))


def make(server: Callable[[], ServerT]) -> ServerT:
    """Not started yet: `with` starts it, and cleans up where that fails."""
    try:
        return server()
    except UnavailableError as exc:
        give_up(str(exc))


def give_up(reason: str) -> NoReturn:
    """A newcomer's machine may lack what a test needs; CI may not, or it would prove nothing and stay green."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
