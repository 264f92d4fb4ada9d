"""Which implementation a process chooses, and the reason that people read."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from swagent import acceleration
from swagent.config import Config
from swagent.errors import ConfigError


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SW_AGENT_NATIVE", raising=False)


def _fake(monkeypatch: pytest.MonkeyPatch, api: int) -> ModuleType:
    module = ModuleType("swagent_native")
    vars(module)["API"] = api
    monkeypatch.setitem(sys.modules, "swagent_native", module)
    monkeypatch.setattr(sys, "version", "3.11.7 (main) [GCC]")
    monkeypatch.setattr(sys.implementation, "name", "cpython")
    return module


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *((each, "") for each in ("", " ", "auto", "AUTO ")),
        ("Off", "SW_AGENT_NATIVE is off"),
        ("yes", "SW_AGENT_NATIVE is none of auto, off"),
    ],
)
def test_the_variable_chooses(monkeypatch: pytest.MonkeyPatch, value: str, reason: str) -> None:
    module = _fake(monkeypatch, acceleration.API)
    monkeypatch.setenv("SW_AGENT_NATIVE", value)
    assert acceleration.load() == (None if reason else module, reason)
    if value == "yes":
        with pytest.raises(ConfigError, match=r"SW_AGENT_NATIVE='yes' cannot be used; allowed: auto, off"):
            Config.from_env()


def test_one_of_another_version_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, acceleration.API + 1)
    module, reason = acceleration.load()
    assert module is None
    assert reason.startswith("swagent-native is of another version: ")


def test_where_it_is_not_installed_or_built_for_another_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake(monkeypatch, acceleration.API)
    monkeypatch.setitem(sys.modules, "swagent_native", None)
    assert acceleration.load() == (None, "swagent-native is not installed")
    monkeypatch.delitem(sys.modules, "swagent_native")
    monkeypatch.delitem(sys.modules, "swagent_native._native", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = "raise ImportError('undefined symbol: PyGone', name='swagent_native._native')"
    (tmp_path / "swagent_native.py").write_text(broken)
    assert acceleration.load() == (None, "swagent-native cannot be loaded: undefined symbol: PyGone")


@pytest.mark.parametrize(
    ("name", "version", "reason"),
    [
        ("pypy", "3.11.7", "it is for CPython, and this is pypy"),
        *(
            ("cpython", version, "it needs the global lock, and this is a free-threaded build")
            for version in ("3.13.0 experimental free-threading build (main)", "3.14.0 free-threading build")
        ),
    ],
)
def test_another_interpreter_runs_python(monkeypatch: pytest.MonkeyPatch, name: str, version: str, reason: str) -> None:
    _fake(monkeypatch, acceleration.API)
    monkeypatch.setattr(sys.implementation, "name", name)
    monkeypatch.setattr(sys, "version", version)
    assert acceleration.load() == (None, reason)


def test_people_read_which_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "native", None)
    monkeypatch.setattr(acceleration, "reason", "SW_AGENT_NATIVE is off")
    assert acceleration.describe("off") == "Python (SW_AGENT_NATIVE is off)"
    monkeypatch.setattr(acceleration, "native", ModuleType("swagent_native"))
    assert acceleration.describe() == "the accelerator"
    # in code or in a file it comes too late
    assert "has to be in the environment" in acceleration.describe(Config(native="off").native)
