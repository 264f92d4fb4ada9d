from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Iterator
from inspect import iscoroutine
from typing import Any

import pytest

from swagent.pipeline.failover import Backoff


@pytest.fixture(autouse=True)
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A life takes milliseconds, and a rest in it no more."""
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: 0.005)
    monkeypatch.setattr("swagent.runtime.supervisor._BACKOFF", Backoff(base=0.002))


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


@pytest.fixture(autouse=True)
def texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest keeps every log record, and with an error its traceback, its frames and the connections in them, which
    uvloop's loops do not close with."""

    def as_text(record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage(), None
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        return True

    log = logging.getLogger("swagent")
    monkeypatch.setattr(log, "filters", [*log.filters, as_text])
