"""The fixtures, for pytest: put `pytest_plugins = ["swagent.testing.plugin"]` into the topmost conftest.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .collecting import RunningCollector, collector


@pytest.fixture
def swagent_collector() -> Iterator[RunningCollector]:
    """A collector of the test's own, for tests with and without an event loop."""
    with collector() as running:
        yield running
