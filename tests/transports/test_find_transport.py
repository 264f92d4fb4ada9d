"""Finding a transport by the name of its protocol."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from swagent.config import Config
from swagent.errors import ConfigError
from swagent.runtime.transport_choice import GROUP, find_transport
from swagent_transports.grpc import GrpcTransport


def install(monkeypatch: pytest.MonkeyPatch, **targets: str) -> None:
    """Pretend that these are the entry points of what is installed."""
    found = EntryPoints(EntryPoint(name, target, GROUP) for name, target in targets.items())
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **query: found.select(**query))


def refusal(**settings: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        find_transport(Config(service="shop", **settings))
    assert caught.value.name == "protocol"
    return caught.value


def test_grpc_is_found_and_is_the_default() -> None:
    assert find_transport(Config(service="shop")) is GrpcTransport
    assert find_transport(Config(service="shop", protocol="GRPC")) is GrpcTransport


def test_transport_of_a_third_party(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, carrier_pigeon="swagent_transports.grpc:GrpcTransport")
    assert find_transport(Config(service="shop", protocol="carrier_pigeon")) is GrpcTransport


def test_the_error_of_an_unknown_protocol_lists_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, grpc="a:B", http="c:D")
    assert refusal(protocol="thrift").allowed == "grpc, http"


def test_nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    assert refusal().allowed == "none: no transport is installed"


def test_missing_client_library_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, grpc="no_such_library.here:Transport")
    assert refusal().allowed == "no_such_library must be installed for it: pip install 'swagent[grpc]'"
