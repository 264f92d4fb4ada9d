"""Real servers for the tests of this folder: started when first asked for, one of each for the session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

from e2e.graphql import OapQuery
from e2e.servers.jars import UnavailableError
from e2e.servers.kafka import Kafka
from e2e.servers.oap import Oap
from e2e.servers.server import JavaServer

ServerT = TypeVar("ServerT", bound=JavaServer)

_HERE = Path(__file__).parent
_SECONDS = 600  # the first run fetches the jars within somebody's fixture


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def oap() -> Iterator[Oap]:
    """For tests that leave it running and tell their data apart by service names of their own."""
    with make(Oap) as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    with make(Kafka) as server:
        yield server


@pytest.fixture(scope="session")
def kafka_oap(kafka: Kafka) -> Iterator[Oap]:
    """An OAP that also fetches from `kafka`."""
    with make(lambda: Oap(kafka=kafka.address)) as server:
        yield server


@pytest.fixture
def make_oap() -> Iterator[Callable[..., Oap]]:
    """Started OAPs of the test's own, free to be killed; takes Oap's arguments."""
    with ExitStack() as servers:
        yield lambda **options: servers.enter_context(make(lambda: Oap(**options)))


@pytest.fixture
def make_kafka() -> Iterator[Callable[[], Kafka]]:
    with ExitStack() as servers:
        yield lambda: servers.enter_context(make(Kafka))


@pytest.fixture
async def query(oap: Oap) -> AsyncIterator[OapQuery]:
    """Asks `oap`."""
    async with OapQuery(oap.http_address) as client:
        yield client


def make(server: Callable[[], ServerT]) -> ServerT:
    """Not started yet: `with` starts it, and cleans up where that fails."""
    try:
        return server()
    except UnavailableError as exc:
        _give_up(str(exc))


def _give_up(reason: str) -> NoReturn:
    """A newcomer's machine may lack Java; CI may not, or it would prove nothing and stay green."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
