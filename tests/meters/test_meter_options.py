"""The options of meters are read under the official agent's names."""

from __future__ import annotations

from typing import Any

import pytest

from swagent import Config
from swagent.errors import ConfigError


def test_the_settings_when_none_is_made() -> None:
    config = Config()
    assert config.meter_reporter_active is None
    assert config.pvm_meter_reporter_active is True
    assert config.meter_reporter_max_buffer_size == 2000
    assert config.meter_reporter_period == 20.0


def test_they_are_read_from_the_environment() -> None:
    config = Config.from_env({
        "SW_AGENT_METER_REPORTER_ACTIVE": "False", "SW_AGENT_PVM_METER_REPORTER_ACTIVE": "false",
        "SW_AGENT_METER_REPORTER_MAX_BUFFER_SIZE": "10000", "SW_AGENT_METER_REPORTER_PERIOD": "5",
    })  # fmt: skip
    assert config.meter_reporter_active is False
    assert config.pvm_meter_reporter_active is False
    assert (config.meter_reporter_max_buffer_size, config.meter_reporter_period) == (10_000, 5.0)
    assert Config(meter_reporter_active=True).meter_reporter_active is True


@pytest.mark.parametrize(
    ("field", "bad"),
    [("meter_reporter_active", 1), ("meter_reporter_active", "true"), ("meter_reporter_period", 0),
     ("meter_reporter_max_buffer_size", 0), ("pvm_meter_reporter_active", None)],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused(field: str, bad: Any) -> None:
    with pytest.raises(ConfigError, match=field):
        Config(**{field: bad})
