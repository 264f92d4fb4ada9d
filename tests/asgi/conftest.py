from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from swagent import Agent
from swagent.asgi import middleware as asgi_module
from swagent.record.trace import tracer as tracers
from swagent.testing import MemoryCollector


@pytest.fixture
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampler's first window lasts as long as the test, on the busiest machine."""
    monkeypatch.setattr("swagent.record.trace.sampling.WINDOW", 3600.0)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryCollector]:
    """Where the agents that middlewares start report to."""
    collector = MemoryCollector()
    monkeypatch.setattr(asgi_module, "Agent", functools.partial(Agent, transport=collector.transport))
    yield collector
    assert tracers.running() is None, "no agent is left behind"
