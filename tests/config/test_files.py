"""Settings from the project's file: which one, how it is read, and that its mistakes are named with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from swagent.config import Config, origins_of
from swagent.errors import ConfigError


def config_of(folder: Path, name: str, text: str, **environ: str) -> Config:
    (folder / name).write_text(text)
    return Config.from_env(environ, folder=folder)


def test_a_file_of_its_own(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        "swagent.toml",
        """
        service = "shop"
        heartbeat-period = 5
        force_tls = true
        ignore_suffix = [".a", ".b"]
        [instance_properties]
        zone = "a"
        rack = 7
        """,
    )
    assert (config.service, config.heartbeat_period, config.force_tls) == ("shop", 5.0, True)
    assert config.ignore_suffix == (".a", ".b")
    assert config.instance_properties == {"zone": "a", "rack": "7"}


def test_a_table_in_the_projects_file_which_a_file_of_its_own_hides(tmp_path: Path) -> None:
    text = '[tool.swagent]\nservice = "shop"\n'
    assert config_of(tmp_path, "pyproject.toml", text).service == "shop"
    assert config_of(tmp_path, "swagent.toml", "").service != "shop"


@pytest.mark.parametrize("text", ["", "[tool.other]\nservice = 7", "# tool.swagent"])
def test_a_projects_file_without_a_word_for_us(tmp_path: Path, text: str) -> None:
    assert config_of(tmp_path, "pyproject.toml", text).service == Config().service


def test_the_environment_wins_over_the_file_and_code_over_both(tmp_path: Path) -> None:
    (tmp_path / "swagent.toml").write_text('service = "file"\nnamespace = "file"\nprotocol = "file"')
    environ = {"SW_AGENT_NAMESPACE": "variable", "SW_AGENT_PROTOCOL": "variable"}
    config = Config.from_env(environ, folder=tmp_path, protocol="code")
    assert (config.service, config.namespace, config.protocol) == ("file", "variable", "code")


def test_the_working_directory_is_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "swagent.toml").write_text('service = "shop"')
    monkeypatch.chdir(tmp_path)
    assert Config.from_env().service == "shop"
    assert Config.from_env({}).service != "shop", "who hands in an environment means that and nothing else"


def test_a_misspelt_key_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"; did you mean service\?$"):
        config_of(tmp_path, "swagent.toml", "servce = 'hunter2'")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("swagent.toml", "heartbeat_period = 'soon'", "swagent.toml: heartbeat_period='soon' cannot be used; "),
        ("swagent.toml", "servce = 'hunter2'", "swagent.toml: servce='***' cannot be used; allowed: one of service, "),
        ("swagent.toml", "service = ", "swagent.toml='Invalid value"),
        ("swagent.toml", 'authentication = "\\n"', "swagent.toml: authentication='***' cannot be used"),
        ("swagent.toml", "tls_cert = 'a'", "swagent.toml: tls_cert='a' cannot be used; allowed: both"),
        ("pyproject.toml", "[tool.swagent]\nforce_tls = 'yes'", "pyproject.toml [tool.swagent]: force_tls='yes' c"),
        ("pyproject.toml", "tool.swagent = 7", "pyproject.toml [tool.swagent]=7 cannot be used; allowed: a table"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_file_and_its_key(tmp_path: Path, name: str, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config_of(tmp_path, name, text)
    assert str(raised.value).startswith(expected)
    assert "hunter2" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "swagent.toml").mkdir()
    with pytest.raises(ConfigError, match="a file that can be read"):
        Config.from_env({}, folder=tmp_path)


def test_the_source_of_each_setting_is_known(tmp_path: Path) -> None:
    (tmp_path / "swagent.toml").write_text('service = "file"\nnamespace = "file"')
    origins = origins_of({"SW_AGENT_NAMESPACE": "variable"}, tmp_path)
    assert origins == {"service": "swagent.toml: service", "namespace": "SW_AGENT_NAMESPACE"}
