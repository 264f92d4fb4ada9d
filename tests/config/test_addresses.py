"""How the collector's addresses are read."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.config import Config
from swagent.config.options import Address, parse_address
from swagent.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "host", "port", "tls"),
    [
        ("oap:11800", "oap", 11800, False),
        ("127.0.0.1:1", "127.0.0.1", 1, False),
        ("oap:65535", "oap", 65535, False),
        ("OAP.Example:11800", "oap.example", 11800, False),
        ("oap_1.internal:11800", "oap_1.internal", 11800, False),
        ("bücher.example:11800", "bücher.example", 11800, False),
        ("[::1]:11800", "::1", 11800, False),
        ("[2001:DB8:0::1]:11800", "2001:db8::1", 11800, False),
        ("[fe80::1%eth0]:11800", "fe80::1%eth0", 11800, False),
        ("grpc://oap:11800", "oap", 11800, False),
        ("grpcs://oap:11800", "oap", 11800, True),
        ("http://oap:12800/", "oap", 12800, False),
        ("https://[::1]:12800", "::1", 12800, True),
        ("GRPCS://oap:11800", "oap", 11800, True),
        ("  oap:11800\t", "oap", 11800, False),
    ],
)
def test_an_address_is_host_and_port_and_whether_tls_is_spoken(text: str, host: str, port: int, tls: bool) -> None:
    assert parse_address(text) == Address(host, port, tls)
    assert parse_address(text, force_tls=True) == Address(host, port, True)


_BAD = [
    "", " ", "oap", "oap:", ":11800", "oap:0", "oap:65536", "oap:-1", "oap:+1", "oap: 1", "oap:1_0", "oap:٣",
    "oap:99999999999999999999", "oap:port", "oap:1:2", "::1:11800", "[::1]", "[::1]11800", "[oap]:11800",
    "[127.0.0.1]:11800", "[::1:11800", "::1]:11800", "ftp://oap:11800", "://oap:11800", "//oap:11800", "grpc:oap:11800",
    "grpc://grpc://oap:11800", "grpc://", "oap:11800/path", "oap:11800?query", "oap:11800#part", "grpc:///oap:11800",
    "user@oap:11800", "user:secret@oap:11800", ":secret@oap:11800", "@oap:11800", "o ap:11800", "o\nap:11800",
    "oap\0:11800", "oap\\:11800", "oap:11800\nother:11800",
]  # fmt: skip


@pytest.mark.parametrize("text", _BAD)
def test_a_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


@given(st.text())
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except ValueError:
        return
    assert parse_address(str(address)) == Address(address.host, address.port, False)


def test_several_addresses_keep_their_order_and_lose_their_duplicates() -> None:
    config = Config(collector=" b:1 ,a:1,, B:1, grpcs://b:1 ,[::1]:1,[0::1]:1,")
    assert config.addresses == (
        Address("b", 1, False), Address("a", 1, False), Address("b", 1, True), Address("::1", 1, False),
    )  # fmt: skip
    assert all(address.tls for address in dataclasses.replace(config, force_tls=True).addresses)


@pytest.mark.parametrize("text", [",", " , ", "a:1,b", "a:1,ftp://b:1"])
def test_one_bad_address_is_enough_to_refuse_the_list(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(collector=text)
    assert (caught.value.name, caught.value.value) == ("collector", text.strip())


@pytest.mark.parametrize(
    "text", ["grpc://user:7hunter2@oap:1", "a:1,user:7hun,ter2@oap:1", ":7hunter2@oap:1", "7hunter2@"]
)
def test_a_password_in_an_address_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigError) as in_code:
        Config(collector=text)
    with pytest.raises(ConfigError) as in_environment:
        Config.from_env({"SW_AGENT_COLLECTOR_BACKEND_SERVICES": text})
    for error in (in_code.value, in_environment.value):
        assert "7hun" not in f"{error}{error!r}{error.value}"


@pytest.mark.parametrize(
    "text",
    ["user:7hunter2@host", "7hunter2@host:9092", "a:1,user:7hun,ter2@b:1", "kafka://:7hunter2@host",
     "a b:7hunter2@", "@7hun@"],
)  # fmt: skip
def test_a_password_in_a_kafka_servers_address_is_refused_and_not_shown(text: str) -> None:
    ways: list[Callable[[], Config]] = [
        lambda: Config.from_env({"SW_KAFKA_BOOTSTRAP_SERVERS": text}),
        *(
            partial(Config, kafka_bootstrap_servers=value)  # type: ignore[arg-type]
            for value in (text, ["a:1", text], [text.encode(), 7])
        ),
    ]
    for way in ways:
        with pytest.raises(ConfigError) as caught:
            way()
        error = caught.value
        assert "7hun" not in "".join(traceback.format_exception(error))
        assert "7hun" not in f"{error!r}{error.value}"
        assert "***@" in str(error)


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("10.0.0.1", False),
     ("localhost.example", False), ("127.0.0.1.example", False), ("oap", False), ("0.0.0.0", False), ("::", False)],
)  # fmt: skip
def test_an_address_on_this_machine_is_known(host: str, is_loopback: bool) -> None:
    assert Address(host, 1, False).is_loopback is is_loopback


def test_an_address_reads_as_it_is_written() -> None:
    assert str(Address("oap", 11800, True)) == "oap:11800"
    assert str(Address("::1", 11800, False)) == "[::1]:11800"
