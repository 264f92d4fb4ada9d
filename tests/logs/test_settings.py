"""The options of the reporting of logs, and what the capture makes of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from swagent.config import Config
from swagent.errors import ConfigError
from swagent.record.logs.capture import LogSettings


def test_by_default_they_are_the_official_agents() -> None:
    config = Config()
    assert config.log_reporter_active is None
    assert config.log_reporter_max_buffer_size == 10_000
    assert LogSettings.from_config(config) == LogSettings()
    assert LogSettings() == LogSettings(
        level=logging.WARNING,
        layout="%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s",
        formatted=True,
        safe_mode=False,
        ignore_filter=False,
        depth=10,
    )


def test_the_environment_sets_each() -> None:
    config = Config.from_env(
        {
            "SW_AGENT_LOG_REPORTER_ACTIVE": "False",
            "SW_AGENT_LOG_REPORTER_SAFE_MODE": "true",
            "SW_AGENT_LOG_REPORTER_MAX_BUFFER_SIZE": "7",
            "SW_AGENT_LOG_REPORTER_LEVEL": "info",
            "SW_AGENT_LOG_REPORTER_IGNORE_FILTER": "TRUE",
            "SW_AGENT_LOG_REPORTER_FORMATTED": "false",
            "SW_AGENT_LOG_REPORTER_LAYOUT": "%(tid)s %(message)s",
            "SW_AGENT_CAUSE_EXCEPTION_DEPTH": "3",
        }
    )
    assert config.log_reporter_active is False
    assert config.log_reporter_max_buffer_size == 7
    assert LogSettings.from_config(config) == LogSettings(
        level=20, layout="%(tid)s %(message)s", formatted=False, safe_mode=True, ignore_filter=True, depth=3
    )


@pytest.mark.parametrize(
    ("level", "number"),
    [("WARNING", 30), ("warn", 30), (" Error ", 40), ("fatal", 50), ("15", 15), (15, 15), (0, 0), ("AUDIT", 33)],
)
def test_a_level_is_a_name_or_a_number(level: Any, number: int) -> None:
    logging.addLevelName(33, "AUDIT")
    assert LogSettings.from_config(Config(log_reporter_level=level)).level == number


def test_a_level_whose_name_was_taken_back_counts_as_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    logging.addLevelName(34, "SHORTLIVED")
    config = Config(log_reporter_level="SHORTLIVED")
    monkeypatch.delitem(logging._nameToLevel, "SHORTLIVED")
    assert LogSettings.from_config(config).level == logging.WARNING


@pytest.mark.parametrize("level", ["loud", "Level 30", "-1", "1001", "1e3", "9" * 5000, "", " ", None, True, 1.5, -1])
def test_another_level_is_refused(level: Any) -> None:
    with pytest.raises(ConfigError, match="log_reporter_level"):
        Config(log_reporter_level=level)


@pytest.mark.parametrize(
    "layout", ["%(message)s", "%(tid)s%%", "%(levelno)03d %(created).3f %(theirs)s %(theirs)d", "%(message)-80.20s\n"]
)
def test_a_layout_names_the_fields_of_a_record(layout: str) -> None:
    assert Config(log_reporter_layout=layout).log_reporter_layout == layout.strip()


@pytest.mark.parametrize(
    "layout",
    ["", "no field", "%s", "%(message)s %s", "%(message)", "%(message", "%", "%(message)s %", "%(message)d", "100%",
     "%%(message)s", "{message}", "$message", "%(message)q", "%(created)*d", None, 7],
)  # fmt: skip
def test_another_layout_is_refused_at_the_start(layout: Any) -> None:
    with pytest.raises(ConfigError, match="log_reporter_layout"):
        Config(log_reporter_layout=layout)


@pytest.mark.parametrize("depth", [-1, 1001, "5", None, True])
def test_a_depth_is_zero_or_more(depth: Any) -> None:
    with pytest.raises(ConfigError, match="cause_exception_depth"):
        Config(cause_exception_depth=depth)
