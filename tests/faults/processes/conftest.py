"""Applications in processes of their own, over every transport."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.processes import sinks
from faults.processes.apps import Warm
from faults.processes.sinks import Sink
from faults.processes.stage import Stage
from kit.real.kafka import Kafka

_HERE = Path(__file__).parent
_SECONDS = 300  # the first test of a module pays for the scenario of all its cells, and for the broker's start


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_SECONDS))
        if "kafka" in getattr(getattr(item, "callspec", None), "params", {}).values():
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    warm = Warm()
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def grpc_sink() -> Iterator[Sink]:
    with sinks.grpc_sink() as sink:
        yield sink


@pytest.fixture(scope="session")
def http_sink() -> Iterator[Sink]:
    with sinks.http_sink() as sink:
        yield sink


@pytest.fixture(scope="session")
def kafka_sink(kafka: Kafka) -> Iterator[Sink]:
    with sinks.kafka_sink(kafka) as sink:
        yield sink


@pytest.fixture(scope="session")
def stage(request: pytest.FixtureRequest, warm: Warm) -> Stage:
    # each sink only when it is needed: not everybody has a broker
    return Stage(warm, lambda transport: request.getfixturevalue(f"{transport}_sink"))
