"""The environment: where it is read from, and which of its names are questioned."""

from __future__ import annotations

import logging

import pytest

from swagent.config import Config, options


def _warnings(caplog: pytest.LogCaptureFixture, *names: str) -> list[str]:
    with caplog.at_level(logging.WARNING, logger="swagent"):
        Config.from_env(dict.fromkeys(names, "hunter2"))
    assert "hunter2" not in caplog.text
    return [record.getMessage() for record in caplog.records if record.name == "swagent"]


def test_the_process_environment_is_read_when_no_other_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SW_AGENT_NAME", "cart")
    assert Config.from_env().service == "cart"
    assert Config.from_env({}).service != "cart"
    assert Config().service != "cart"


def test_each_unknown_name_is_questioned_once_with_a_suggestion_where_one_resembles_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert _warnings(caplog, "SW_AGENT_AUTHENTIFICATION", "SW_AGENT_NAME", "SW_AGENT_NAMESPCE", "SW_X") == [
        "the environment variable SW_AGENT_AUTHENTIFICATION is not known; did you mean SW_AGENT_AUTHENTICATION?",
        "the environment variable SW_AGENT_NAMESPCE is not known; did you mean SW_AGENT_NAMESPACE?",
        "the environment variable SW_X is not known",
    ]


@pytest.mark.parametrize("name", ["SW", "SWIFT", "AGENT_NAME", "sw_agent_name", "MY_SW_AGENT_NAME"])
def test_names_of_others_are_left_alone(caplog: pytest.LogCaptureFixture, name: str) -> None:
    assert _warnings(caplog, name) == []


def test_a_name_that_is_read_is_not_questioned(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="swagent"):
        Config.from_env({option.env: "" for _, option in options()})
    assert caplog.records == []
