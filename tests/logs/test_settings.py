"""The options of the reporting of logs, and what the capture makes of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from swagent.config import Config
from swagent.errors import ConfigError
from swagent.record.logs.capture import LogSettings


def test_they_follow_from_the_options() -> None:
    assert LogSettings.from_config(Config()) == LogSettings(
        layout="%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s", depth=10
    )
    changed = Config(
        log_reporter_level="info", log_reporter_layout="%(tid)s %(message)s", log_reporter_formatted=False,
        log_reporter_safe_mode=True, log_reporter_ignore_filter=True, cause_exception_depth=3,
    )  # fmt: skip
    assert LogSettings.from_config(changed) == LogSettings(20, "%(tid)s %(message)s", False, True, True, 3)


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
