"""The official agent in the same process is reported when the application loads it."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from pathlib import Path

import pytest

from swagent.instrument import instrument, uninstrument


def test_it_is_logged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    package = tmp_path / "skywalking"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "agent.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("skywalking", "skywalking.agent"):
        # so that they are gone afterwards
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]

    def found() -> list[str]:
        # what other tests left behind may have its say meanwhile, in threads of its own
        return [record.getMessage() for record in caplog.records if record.thread == threading.get_ident()]

    with caplog.at_level(logging.WARNING, "swagent"):
        instrument("urllib-request")
        instrument("urllib-request")
        assert found() == []
        importlib.import_module("skywalking.agent")
    uninstrument("urllib-request")
    assert ["the official agent" in text for text in found()] == [True]
