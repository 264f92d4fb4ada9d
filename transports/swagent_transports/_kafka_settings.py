"""The settings of the Kafka client, from the configuration: topics, servers, login and TLS."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from aiokafka.codec import has_lz4, has_snappy, has_zstd  # pyright: ignore[reportMissingTypeStubs]

from swagent.abc import Address, parse_address
from swagent.config import Config
from swagent.errors import ConfigError
from swagent.signals import Signal

from ._tls import client_context

# The share of a call's time that one request to a broker gets. The client's own timer then fires first: it ends that
# one request and its connection, while ours, the last resort, ends the whole client.
_REQUEST_SHARE = 0.8
_OVER_TLS: dict[str, str] = {"plaintext": "ssl", "sasl_plaintext": "sasl_ssl"}
_OWN_TLS_FILES = {
    "tls_ca": "kafka_ssl_cafile",
    "tls_cert": "kafka_ssl_certfile",
    "tls_key": "kafka_ssl_keyfile",
}
_LIBRARIES: dict[str, Callable[[], bool]] = {"snappy": has_snappy, "lz4": has_lz4, "zstd": has_zstd}


@dataclass(frozen=True)
class KafkaSettings:
    """One transport's settings, checked."""

    topics: dict[Signal, str]
    management_topic: str
    servers: tuple[str, ...]
    timeout: float
    """Seconds that one call may take, connecting included."""
    arguments: dict[str, Any] = field(repr=False)
    """For AIOKafkaProducer. They contain the password."""
    connection: dict[str, Any] = field(repr=False)
    """The arguments that a connection takes."""


def read_settings(config: Config) -> KafkaSettings:
    """
    :raises ConfigError: when settings do not fit each other, a TLS file cannot be used or a library is missing
    """
    timeout = config.kafka_request_timeout_ms / 1000 or config.request_timeout
    connection = {
        "client_id": config.kafka_client_id or "swagent",
        "security_protocol": _security_protocol(config),
        "ssl_context": _tls(config) if is_over_tls(config) else None,
        **_login(config),
    }
    arguments = {
        **connection,
        "request_timeout_ms": max(1, round(timeout * _REQUEST_SHARE * 1000)),
        "max_batch_size": config.kafka_max_batch_size,
        "compression_type": _compression(config),
    }
    prefix = f"{config.kafka_namespace}-" if config.kafka_namespace else ""
    topics = {
        Signal.SEGMENT: prefix + config.kafka_topic_segment,
        Signal.LOG: prefix + config.kafka_topic_log,
        Signal.METER: prefix + config.kafka_topic_meter,
    }
    management = prefix + config.kafka_topic_management
    return KafkaSettings(topics, management, config.kafka_bootstrap_servers, timeout, arguments, connection)


def is_over_tls(config: Config) -> bool:
    """Whether the brokers are talked to over TLS."""
    return config.force_tls or config.kafka_security_protocol in _OVER_TLS.values()


def entry_address(config: Config) -> Address:
    """The first bootstrap server. It represents the whole cluster."""
    return parse_address(config.kafka_bootstrap_servers[0], is_over_tls(config))


def _security_protocol(config: Config) -> str:
    protocol = config.kafka_security_protocol
    return (_OVER_TLS.get(protocol, protocol) if config.force_tls else protocol).upper()


def _login(config: Config) -> dict[str, Any]:
    if not config.kafka_security_protocol.startswith("sasl"):
        return {}
    for name in ("kafka_sasl_plain_username", "kafka_sasl_plain_password"):
        if not getattr(config, name):
            raise ConfigError(name, "", f"a text, since kafka_security_protocol is {config.kafka_security_protocol}")
    over_tls = is_over_tls(config)
    exposed = [each for each in config.kafka_bootstrap_servers if parse_address(each, over_tls).is_exposed]
    if config.kafka_sasl_mechanism == "plain" and exposed and not config.allow_plaintext_token:
        allowed = f"sasl_ssl to {exposed[0]}, or a scram mechanism, or allow_plaintext_token=True"
        raise ConfigError("kafka_security_protocol", config.kafka_security_protocol, allowed)
    return {
        "sasl_mechanism": config.kafka_sasl_mechanism.upper(),
        "sasl_plain_username": config.kafka_sasl_plain_username,
        "sasl_plain_password": config.kafka_sasl_plain_password.reveal(),
    }


def _tls(config: Config) -> ssl.SSLContext:
    """As for every transport, with Kafka's own files where they are set."""
    own: dict[str, Any] = {name: file for name, field in _OWN_TLS_FILES.items() if (file := getattr(config, field))}
    try:
        return client_context(replace(config, **own))
    except ConfigError as error:
        if error.name not in own:
            raise
        raise ConfigError(_OWN_TLS_FILES[error.name], error.value, error.allowed) from None


def _compression(config: Config) -> str | None:
    wanted = config.kafka_compression_type
    if wanted in _LIBRARIES and not _LIBRARIES[wanted]():
        raise ConfigError("kafka_compression_type", wanted, "none, gzip, or install 'aiokafka[all]'")
    return None if wanted == "none" else wanted
