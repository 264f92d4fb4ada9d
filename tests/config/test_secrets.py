"""The token is never shown, and never sent in the clear by accident."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import traceback
from typing import Any

import pytest

from swagent.config import Config
from swagent.config.options import Secret
from swagent.errors import ConfigError

_TOKEN = "hunter2"


def _config(collector: str = "127.0.0.1:11800", **settings: Any) -> Config:
    return Config.from_env({"SW_AGENT_AUTHENTICATION": _TOKEN}, collector=collector, **settings)


def test_a_secret_shows_itself_in_no_text() -> None:
    secret = Secret(_TOKEN)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", "".join(map(str, [secret])), repr([secret])]
    assert not any(_TOKEN in text for text in shown)
    assert secret.reveal() == _TOKEN


def test_a_secret_that_is_empty_may_be_seen_to_be_so() -> None:
    assert not Secret("")
    assert Secret(_TOKEN)
    assert repr(Secret("")) != repr(Secret(_TOKEN))


def test_secrets_are_equal_by_content() -> None:
    assert Secret(_TOKEN) == Secret(_TOKEN) != Secret("other")
    assert Secret(_TOKEN) != _TOKEN
    assert len({Secret(_TOKEN), Secret(_TOKEN)}) == 1


def test_a_copied_secret_is_the_same_secret() -> None:
    secret = Secret(_TOKEN)
    assert copy.deepcopy(secret) == pickle.loads(pickle.dumps(secret)) == secret


def test_a_config_does_not_show_its_token() -> None:
    config = _config()
    shown = [repr(config), str(config), repr(dataclasses.asdict(config)), repr(dataclasses.astuple(config))]
    assert not any(_TOKEN in text for text in shown)
    assert config.authentication.reveal() == _TOKEN


@pytest.mark.parametrize("token", [f"{_TOKEN}\n", f"{_TOKEN}\r\nx: y", f"é{_TOKEN}", f"{_TOKEN}\0", f"{_TOKEN}\x7f"])
def test_a_token_that_would_break_a_header_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ConfigError) as as_secret:
        Config(authentication=Secret(token))
    with pytest.raises(ConfigError) as as_text:
        Config(authentication=token)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as in_environment:
        Config.from_env({"SW_AGENT_AUTHENTICATION": token})
    for error in (as_secret.value, as_text.value, in_environment.value):
        assert error.value == "***"
        assert _TOKEN not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("collector", ["oap:11800", "grpcs://a:1,oap:11800", "[2001:db8::1]:11800", "http://oap:12800"])
def test_a_token_is_not_sent_in_the_clear_beyond_this_machine(collector: str) -> None:
    with pytest.raises(ConfigError, match="allow_plaintext_token") as caught:
        _config(collector)
    assert caught.value.name == "SW_AGENT_AUTHENTICATION"
    assert caught.value.value == "***"
    assert _TOKEN not in str(caught.value)
    assert f"TLS to {collector.rpartition('/')[2].rpartition(',')[2]}" in str(caught.value)


@pytest.mark.parametrize(
    ("collector", "settings"),
    [
        ("grpcs://oap:11800", {}),
        ("https://oap:12800", {}),
        ("oap:11800", {"force_tls": True}),
        ("oap:11800", {"allow_plaintext_token": True}),
        ("localhost:11800,127.0.0.1:11800,[::1]:11800", {}),
    ],
)
def test_a_token_may_be_sent_over_tls_on_this_machine_or_by_the_users_word(
    collector: str, settings: dict[str, object]
) -> None:
    assert _config(collector, **settings).authentication


def test_headers_of_otlp_are_guarded_as_a_token_is() -> None:
    headers = Secret(f"authorization={_TOKEN}")
    with pytest.raises(ConfigError, match="allow_plaintext_token") as caught:
        Config(collector="oap:4317", otlp_headers=headers)
    assert (caught.value.name, _TOKEN in str(caught.value)) == ("otlp_headers", False)
    assert _TOKEN not in repr(Config(collector="https://oap:4318", otlp_headers=headers))


def test_without_a_token_any_address_will_do() -> None:
    assert Config(collector="oap:11800").addresses[0].host == "oap"
