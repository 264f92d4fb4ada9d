"""Applications in processes of their own, over every transport."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.matrix import TRANSPORTS
from faults.processes.apps import Warm
from faults.processes.stage import Stage
from kit.sinks import sink_of

_HERE = Path(__file__).parent
_SECONDS = 300  # the first test of a module pays for the scenario of all its cells


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    warm = Warm()
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def stage(warm: Warm) -> Iterator[Stage]:
    with ExitStack() as ends:
        yield Stage(warm, {each: ends.enter_context(sink_of(each)) for each in TRANSPORTS.values()})
