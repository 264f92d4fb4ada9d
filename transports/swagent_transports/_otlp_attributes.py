"""From SkyWalking's tags to attributes by OpenTelemetry's semantic conventions (1.37). Pure.

A tag without a counterpart there stays an attribute of its own name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

Value = str | int | float
Tag = tuple[str, str]
INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5
DATABASE, RPC, HTTP, MQ, CACHE = 1, 2, 3, 4, 5

_NAMES = {
    "http.method": "http.request.method",
    "http.status_code": "http.response.status_code",
    "http.status.code": "http.response.status_code",
    "db.type": "db.system.name",
    "db.instance": "db.namespace",
    "db.statement": "db.query.text",
    "db.operation": "db.operation.name",
    "db.collection": "db.collection.name",
    "cache.type": "db.system.name",
    "cache.cmd": "db.operation.name",
    "mq.topic": "messaging.destination.name",
    "mq.queue": "messaging.destination.name",
    "grpc.status_code": "rpc.grpc.status_code",
}
# what other attributes say already
_LEFT_OUT = frozenset({"mq.broker", "grpc.url", "grpc.method", "traceparent", "url", "http.url"})
_INTEGERS = frozenset({"http.response.status_code", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"})
_NUMBERS = ("time.", "loop.", "gen_ai.request.")
_SYSTEMS = {"oracle": "oracle.db", "sqlserver": "microsoft.sql_server", "mssql": "microsoft.sql_server"}
_GRPC = {
    name: number
    for number, name in enumerate(
        (
            *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
            *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE"),
            *("UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
        )
    )
}
# by the ids of SkyWalking's component libraries
_MESSAGING = {
    7: "redis",
    40: "kafka",
    41: "kafka",
    52: "rabbitmq",
    53: "rabbitmq",
    73: "pulsar",
    74: "pulsar",
    7011: "celery",
}
_GRPC_COMPONENT = 23
_ADDRESS = re.compile(r"\[?([^]]*?)]?:([0-9]{1,5})")


class Facts(NamedTuple):
    """A span in SkyWalking's terms, as far as its attributes depend on them."""

    kind: int
    layer: int
    component: int
    operation: str
    peer: str
    tags: Sequence[Tag]


def kind_of(span_type: int, layer: int) -> int:
    """The kind of a span by its type and layer."""
    if span_type == 0:
        return CONSUMER if layer == MQ else SERVER
    if span_type == 1:
        return PRODUCER if layer == MQ else CLIENT
    return INTERNAL


def describe(facts: Facts) -> tuple[str, dict[str, Value]]:
    """The name and the attributes of a span."""
    found: dict[str, Value] = {}
    for key, value in facts.tags:
        if key not in _LEFT_OUT:
            name = _NAMES.get(key, key)
            found.setdefault(name, _typed(name, value))
    _add_peer(facts, found)
    if facts.layer == HTTP:
        return _describe_http(facts, found), found
    if facts.layer in (DATABASE, CACHE):
        return _describe_query(facts, found), found
    if facts.layer == MQ:
        return _describe_message(facts, found), found
    if facts.layer == RPC or facts.component == _GRPC_COMPONENT:
        return _describe_call(facts, found), found
    return facts.operation, found


def _typed(name: str, value: str) -> Value:
    if name in _INTEGERS and value.isdecimal() and len(value) < 19:
        return int(value)
    if name == "db.system.name":
        lower = value.lower()
        return _SYSTEMS.get(lower, lower)
    if name == "rpc.grpc.status_code":
        return _GRPC.get(value, value)
    if name.startswith(_NUMBERS):
        try:
            number = float(value)
        except ValueError:
            return value
        return number if math.isfinite(number) else value
    return value


def _add_peer(facts: Facts, found: dict[str, Value]) -> None:
    """The other side: of a server it is the client; of all others, a consumer's too, it is a server."""
    peer = facts.peer or next((value for key, value in facts.tags if key == "mq.broker"), "")
    if not peer:
        return
    side = "client" if facts.kind == SERVER else "server"
    matched = _ADDRESS.fullmatch(re.split("[,;]", peer, maxsplit=1)[0])
    if matched is None:
        found[f"{side}.address"] = peer
        return
    found[f"{side}.address"], found[f"{side}.port"] = matched[1], int(matched[2])


def _describe_http(facts: Facts, found: dict[str, Value]) -> str:
    url = next((value for key, value in facts.tags if key in ("url", "http.url")), "")
    method = str(found.get("http.request.method", ""))
    _, _, path = facts.operation.partition(":") if not facts.operation.startswith("/") else ("", "", facts.operation)
    if facts.kind != SERVER:
        if url:
            found["url.full"] = url
        elif path.startswith("/"):
            found["url.template"] = path
        return f"{method} {path}" if method and path.startswith("/") else facts.operation
    _add_url(url, found)
    if path.startswith("/"):
        found["http.route"] = path
    return f"{method} {path}" if method and path else facts.operation


def _add_url(url: str, found: dict[str, Value]) -> None:
    """The parts of a request's URL, which a server is to report one by one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return
    if parts.scheme:
        found["url.scheme"] = parts.scheme
    if url:
        found["url.path"] = parts.path or "/"
    if host:
        found["server.address"] = host
    if port is not None:
        found["server.port"] = port


def _describe_query(facts: Facts, found: dict[str, Value]) -> str:
    found.setdefault("db.system.name", "other_sql" if facts.layer == DATABASE else "redis")
    if summary := found.get("db.query.summary"):
        return str(summary)
    operation = found.get("db.operation.name")
    target = found.get("db.collection.name") or (found.get("db.namespace") if facts.layer == DATABASE else None)
    if operation is None:
        return facts.operation
    return f"{operation} {target}" if target else str(operation)


def _describe_message(facts: Facts, found: dict[str, Value]) -> str:
    system = _MESSAGING.get(facts.component) or facts.operation.partition("/")[0].lower()
    operation = "send" if facts.kind == PRODUCER else "process"
    found |= {"messaging.system": system, "messaging.operation.name": operation, "messaging.operation.type": operation}
    destination = found.get("messaging.destination.name")
    return f"{operation} {destination}" if destination else facts.operation


def _describe_call(facts: Facts, found: dict[str, Value]) -> str:
    said = next((value for key, value in facts.tags if key == "grpc.method"), facts.operation)
    service, _, method = said.strip("/").rpartition("/")
    if facts.component == _GRPC_COMPONENT or "rpc.grpc.status_code" in found:
        found["rpc.system"] = "grpc"
    if not service:
        return facts.operation
    found["rpc.service"], found["rpc.method"] = service, method
    return f"{service}/{method}"
