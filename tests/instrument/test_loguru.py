"""loguru: its records are reported when it is loaded after the agent has started."""

from __future__ import annotations

import importlib
import sys

import pytest

from logs.captured import capturing
from swagent.instrument import State
from swagent.instrument.installation import Installation
from swagent.instrument.libraries.logs.loguru import INSTRUMENTATION


def test_records_are_reported_from_its_import_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "loguru"]:
        monkeypatch.delitem(sys.modules, name)
    installation = Installation(INSTRUMENTATION)
    with capturing() as captured:
        installation.install()
        loguru = importlib.import_module("loguru")
        assert installation.state is State.ACTIVE
        loguru.logger.remove(0)  # which it has from the start, and prints
        loguru.logger.warning("low")
        captured.capture.attach_loguru()
        loguru.logger.warning("empty")
    loguru.logger.warning("it is not taken")
    assert captured.texts == ["low", "empty"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "loguru"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    installation.switch_off("by the test")


def test_without_a_capture_nothing_is_added() -> None:
    loguru = importlib.import_module("loguru")
    before = len(loguru.logger._core.handlers)
    installation = Installation(INSTRUMENTATION)
    installation.install()
    assert len(loguru.logger._core.handlers) == before
    installation.switch_off("by the test")
