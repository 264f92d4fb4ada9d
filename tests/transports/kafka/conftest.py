"""A real broker, one for the session. Tests leave it running, and use topics of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from e2e.fixtures import make
from kit.kafka_cluster import Cluster
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka

_SECONDS = 600  # the first run fetches the jars within some test's fixture


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "cluster" in item.fixturenames:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    with make(Kafka) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def tools() -> Iterator[LoopThread]:
    """A loop for the admin client and the consumer: what they do must not show in the loop under test."""
    with LoopThread() as thread:
        yield thread


@pytest.fixture
async def cluster(broker: Kafka, tools: LoopThread) -> AsyncIterator[Cluster]:
    """The broker, up, with topics that no other test has."""
    cluster = Cluster(broker, tools)
    await cluster.serve()
    await cluster.create_topics()
    yield cluster
    broker.resume()
