"""The settings that the Kafka client gets, and those that are refused at the start."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Any

import pytest

from kit.certificates import Certificates
from swagent.abc import addresses_of
from swagent.config import Config
from swagent.config.options import Address, Secret
from swagent.errors import ConfigError
from swagent.signals import Signal
from swagent.testing import MemoryTransport
from swagent_transports._kafka_settings import KafkaSettings, read_settings
from swagent_transports.kafka import KafkaTransport

CLIENT = "SW_KAFKA_REPORTER_CONFIG_"
PASSWORD = "pass phrase ü"
LOGIN: dict[str, Any] = {
    "kafka_security_protocol": "sasl_ssl",
    "kafka_sasl_plain_username": "agent",
    "kafka_sasl_plain_password": PASSWORD,
}


def settings(**options: Any) -> KafkaSettings:
    return read_settings(Config(service="shop", **options))


def from_env(environ: dict[str, str]) -> Config:
    return Config.from_env({"SW_AGENT_PROTOCOL": "kafka", **environ})


def make(**options: Any) -> KafkaTransport:
    config = Config(service="shop", **options)
    return KafkaTransport(config, KafkaTransport.addresses(config)[0])


def test_defaults() -> None:
    found = settings()
    assert found.servers == ("localhost:9092",)
    assert found.management_topic == "skywalking-managements"
    assert found.topics == {
        Signal.SEGMENT: "skywalking-segments",
        Signal.LOG: "skywalking-logs",
        Signal.METER: "skywalking-meters",
    }
    assert (found.connection["security_protocol"], found.connection["ssl_context"]) == ("PLAINTEXT", None)
    assert found.timeout == 5.0
    assert found.arguments["request_timeout_ms"] == 4000


def test_namespace_and_topics_of_the_environment() -> None:
    config = from_env({"SW_KAFKA_NAMESPACE": "west", "SW_KAFKA_TOPIC_SEGMENT": "traces"})
    found = read_settings(config)
    assert found.topics[Signal.SEGMENT] == "west-traces"
    assert found.topics[Signal.LOG] == "west-skywalking-logs"
    assert found.management_topic == "west-skywalking-managements"


def test_all_servers_are_one_address() -> None:
    config = from_env({"SW_KAFKA_BOOTSTRAP_SERVERS": "One, [::1]:9093 ,192.0.2.3:1"})
    assert config.kafka_bootstrap_servers == ("one:9092", "[::1]:9093", "192.0.2.3:1")
    assert addresses_of(KafkaTransport, config) == [Address("one", 9092, False)]
    assert str(KafkaTransport(config, Address("one", 9092, False))) == "kafka://one:9092,[::1]:9093,192.0.2.3:1"


def test_other_transports_have_the_collectors_addresses() -> None:
    config = Config(collector="one:1,two:2")
    assert addresses_of(MemoryTransport, config) == config.addresses


REFUSED = {
    "SW_KAFKA_BOOTSTRAP_SERVERS": [",", "kafka://one:1", "one:0", "one:70000", "a b", "::1", "one:x"],
    "SW_KAFKA_TOPIC_LOG": ["with space", "a/b", "x" * 201, "ä"],
    "SW_KAFKA_NAMESPACE": ["with space", "a/b", "x" * 201, "ä"],
    f"{CLIENT}SECURITY_PROTOCOL": ["tls"],
    f"{CLIENT}SASL_MECHANISM": ["GSSAPI"],
    f"{CLIENT}COMPRESSION_TYPE": ["zip"],
    f"{CLIENT}REQUEST_TIMEOUT_MS": ["soon"],
    f"{CLIENT}MAX_BATCH_SIZE": ["-1"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in REFUSED.items() for text in texts])
def test_values_that_cannot_be_used(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        from_env({name: text})


def test_a_topic_has_a_name() -> None:
    with pytest.raises(ConfigError, match="kafka_topic_log"):
        Config(kafka_topic_log=" ")


@pytest.mark.parametrize("spell", [str.upper, str.lower])
def test_client_settings_in_any_case(spell: Any) -> None:
    given = {"CLIENT_ID": "me", "COMPRESSION_TYPE": "gzip", "REQUEST_TIMEOUT_MS": "700", "MAX_BATCH_SIZE": "2048"}
    found = read_settings(from_env({CLIENT + spell(name): text for name, text in given.items()}))
    assert found.connection["client_id"] == "me"
    assert (found.arguments["compression_type"], found.arguments["max_batch_size"]) == ("gzip", 2048)
    assert (found.timeout, found.arguments["request_timeout_ms"]) == (0.7, 560)


def test_two_spellings_of_one_setting() -> None:
    with pytest.raises(ConfigError, match="one spelling"):
        from_env({f"{CLIENT}client_id": "a", f"{CLIENT}CLIENT_ID": "b"})


@pytest.mark.parametrize(
    "name", ["security_protocl", "ssl_password", "SSL_CHECK_HOSTNAME", "sasl_oauth_token_provider", "socks5_proxy", "x"]
)
def test_a_client_setting_that_is_not_on_the_list_is_refused_without_showing_it(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{CLIENT}SASL_MECHANISM, ") as refused:
        from_env({CLIENT + name: PASSWORD})
    assert refused.value.name == CLIENT + name.upper()
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("name", ["acks", "ENABLE_IDEMPOTENCE", "linger_ms", "retries", "batch_size", "api_version"])
def test_a_client_setting_that_has_no_meaning_here_and_cannot_harm_is_named(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="swagent"):
        assert read_settings(from_env({CLIENT + name: PASSWORD})).arguments == settings().arguments
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert caplog.messages[0].endswith(CLIENT + name.upper())


def test_over_another_protocol_it_is_only_questioned(caplog: pytest.LogCaptureFixture) -> None:
    Config.from_env({f"{CLIENT}ssl_password": PASSWORD})
    assert f"{CLIENT}SSL_PASSWORD is not known" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_login_over_tls() -> None:
    found = settings(**LOGIN, kafka_sasl_mechanism="SCRAM-SHA-256", kafka_bootstrap_servers="kafka.example.org")
    assert found.connection["security_protocol"] == "SASL_SSL"
    assert found.connection["sasl_mechanism"] == "SCRAM-SHA-256"
    assert found.connection["sasl_plain_password"] == PASSWORD
    assert found.connection["ssl_context"].verify_mode is ssl.CERT_REQUIRED


def test_the_password_shows_nowhere() -> None:
    config = Config(service="shop", **LOGIN)
    found = read_settings(config)
    for shown in (config, found, KafkaTransport(config, Address("one", 1, True))):
        assert PASSWORD not in repr(shown) + str(shown)
    with pytest.raises(ConfigError) as refused:
        Config(kafka_sasl_plain_password=Secret(f"{PASSWORD}\0"))
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("missing", ["kafka_sasl_plain_username", "kafka_sasl_plain_password"])
def test_half_a_login(missing: str) -> None:
    with pytest.raises(ConfigError, match=missing):
        settings(**{**LOGIN, missing: ""})


def test_a_password_in_the_clear_stays_on_this_machine() -> None:
    clear = {**LOGIN, "kafka_security_protocol": "sasl_plaintext"}
    assert settings(**clear, kafka_bootstrap_servers="127.0.0.1").connection["security_protocol"] == "SASL_PLAINTEXT"
    with pytest.raises(ConfigError, match="sasl_ssl to kafka:9092"):
        settings(**clear, kafka_bootstrap_servers="127.0.0.1,kafka")
    for way_out in ({"kafka_sasl_mechanism": "scram-sha-512"}, {"allow_plaintext_token": True}, {"force_tls": True}):
        settings(**clear, kafka_bootstrap_servers="kafka", **way_out)


def test_force_tls_holds_for_brokers() -> None:
    assert settings(force_tls=True).connection["security_protocol"] == "SSL"
    assert str(make(force_tls=True)) == "kafkas://localhost:9092"


def test_files_for_kafka_alone(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    chain, key = certificates.client()
    found = settings(
        kafka_security_protocol="ssl",
        kafka_ssl_cafile=certificates.ca,
        kafka_ssl_certfile=chain,
        kafka_ssl_keyfile=key,
    )
    (trusted,) = found.connection["ssl_context"].get_ca_certs()
    assert "trustme" in str(trusted["subject"])


@pytest.mark.parametrize("name", ["kafka_ssl_cafile", "tls_ca"])
def test_a_file_that_cannot_be_read(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}="):
        settings(kafka_security_protocol="ssl", **{name: "/nowhere.pem"})


def test_compression_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swagent_transports._kafka_settings._LIBRARIES", {"zstd": lambda: False})
    with pytest.raises(ConfigError, match="gzip"):
        settings(kafka_compression_type="zstd")
