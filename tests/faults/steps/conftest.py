from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from inspect import iscoroutine
from typing import Any

import pytest

from swagent.pipeline.failover import Backoff


@pytest.fixture(autouse=True)
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A life takes milliseconds, and a rest in it no more."""
    monkeypatch.setattr("swagent.agent.random.random", lambda: 0.005)
    monkeypatch.setattr("swagent._supervisor._BACKOFF", Backoff(base=0.002))


@pytest.fixture(autouse=True)
def quietly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing may reach the interpreter's last resort, not even later. But for what the servers in their threads say,
    which are stopped again and again and drop connections that they have not quite accepted yet, and for what a task
    that asyncio cancelled before its first turn would have run."""
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    yield
    gc.collect()
    found = [each for each in heard if not isinstance(each.exc_value, ResourceWarning) and not iscoroutine(each.object)]
    assert not found, f"the interpreter complained of {found}"
