"""The peer of a call, by the attributes of either semantic conventions: `host:port`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..record.bounded_cache import remembered
from ..record.limits import address_of, as_text

_HOSTS = ("server.address", "net.peer.name", "network.peer.address", "net.sock.peer.name", "net.sock.peer.addr",
          "net.peer.ip", "peer.hostname", "db.hostname")  # fmt: skip
_PORTS = ("server.port", "net.peer.port", "network.peer.port", "net.sock.peer.port", "peer.port")
_URLS = ("url.full", "http.url", "messaging.url", "db.connection_string")
_CLIENTS = ("client.address", "http.client_ip", "net.sock.peer.addr", "net.peer.ip", "network.peer.address")
_CLIENT_PORTS = ("client.port", "net.sock.peer.port", "net.peer.port", "network.peer.port")
_DEFAULT_PORTS = {
    "http": 80, "https": 443, "ws": 80, "wss": 443, "postgresql": 5432, "cockroachdb": 26257, "mysql": 3306,
    "mariadb": 3306, "mssql": 1433, "microsoft.sql_server": 1433, "oracle": 1521, "oracle.db": 1521, "redis": 6379,
    "valkey": 6379, "memcached": 11211, "mongodb": 27017, "cassandra": 9042, "elasticsearch": 9200,
    "clickhouse": 9000, "rabbitmq": 5672, "amqp": 5672, "amqps": 5671, "kafka": 9092,
}  # fmt: skip
KEYS = frozenset((*_HOSTS, *_PORTS, *_URLS))
"""The attributes that name the peer of an outgoing call."""


def server_of(attributes: Mapping[str, Any], system: str = "") -> str:
    """The address of the server that is called; empty where it is not said.

    :param system: of the database or queue, for the port that it has where no other is given
    """
    host = _first(attributes, _HOSTS)
    if host:
        return _address(host, _first(attributes, _PORTS), system)
    url = _first(attributes, _URLS)
    return _address(url, "", system) if url else ""


@remembered(1024)
def _address(host: str, port: str, system: str) -> str:
    """Remembered: most services call few places."""
    return address_of(_join(host, port, system))


def client_of(attributes: Mapping[str, Any]) -> str:
    """The address of the client that called; empty where it is not said."""
    host = _first(attributes, _CLIENTS)
    port = _first(attributes, _CLIENT_PORTS)
    return address_of(f"{host}:{port}" if port else host) if host else ""


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = attributes.get(key)
        if value:
            return value if type(value) is str else as_text(value)
    return ""


def _join(host: str, port: str, system: str) -> str:
    if host[0] in '["':
        # aiokafka's instrumentation writes JSON
        hosts = _parse(host)
        if hosts:
            return ",".join(_join(each, port, system) for each in hosts)
    if "://" in host:
        return _of_url(host, system)
    if port:
        return f"{_bracketed(host)}:{port}"
    if host[0] == "/" or host[-1] == "]" or _has_port(host):
        return host
    default = _DEFAULT_PORTS.get(system)
    return f"{_bracketed(host)}:{default}" if default else host


def _parse(text: str) -> list[str]:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return []
    hosts: list[Any] = list(found) if type(found) is list else [found]  # pyright: ignore[reportUnknownArgumentType]
    return [host for each in hosts if (host := as_text(each))]


def _of_url(url: str, system: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    port = port or _DEFAULT_PORTS.get(parts.scheme) or _DEFAULT_PORTS.get(system)
    return f"{_bracketed(host)}:{port}" if port and host else host


def _has_port(host: str) -> bool:
    name, colon, port = host.rpartition(":")
    return bool(colon) and port.isdecimal() and ":" not in name


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and host[0] != "[" else host
