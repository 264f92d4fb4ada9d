"""The environment: where it is read from, and which of its names are questioned."""

from __future__ import annotations

import logging

import pytest

from swagent.config import Config, options


def _warnings(caplog: pytest.LogCaptureFixture, *names: str) -> list[str]:
    with caplog.at_level(logging.WARNING, logger="swagent"):
        Config.from_env(dict.fromkeys(names, "1"))
    return [record.getMessage() for record in caplog.records if record.name == "swagent"]


def test_the_process_environment_is_read_when_no_other_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SW_AGENT_NAME", "cart")
    assert Config.from_env().service == "cart"
    assert Config.from_env({}).service != "cart"
    assert Config().service != "cart"


def test_an_unknown_name_is_questioned_with_a_suggestion(caplog: pytest.LogCaptureFixture) -> None:
    assert _warnings(caplog, "SW_AGENT_NAMESPCE") == [
        "the environment variable SW_AGENT_NAMESPCE is not known; did you mean SW_AGENT_NAMESPACE?"
    ]


def test_a_name_that_resembles_no_other_is_questioned_without_one(caplog: pytest.LogCaptureFixture) -> None:
    assert _warnings(caplog, "SW_X") == ["the environment variable SW_X is not known"]


def test_each_unknown_name_is_questioned_once(caplog: pytest.LogCaptureFixture) -> None:
    assert len(_warnings(caplog, "SW_Y", "SW_X", "SW_AGENT_NAME")) == 2


@pytest.mark.parametrize("name", ["SW", "SWIFT", "AGENT_NAME", "sw_agent_name", "MY_SW_AGENT_NAME"])
def test_names_of_others_are_left_alone(caplog: pytest.LogCaptureFixture, name: str) -> None:
    assert _warnings(caplog, name) == []


def test_a_name_that_is_read_is_not_questioned(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="swagent"):
        Config.from_env({option.env: "" for _, option in options()})
    assert caplog.records == []


def test_an_unknown_names_value_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="swagent"):
        Config.from_env({"SW_AGENT_AUTHENTIFICATION": "hunter2"})
    assert "SW_AGENT_AUTHENTICATION?" in caplog.text
    assert "hunter2" not in caplog.text
