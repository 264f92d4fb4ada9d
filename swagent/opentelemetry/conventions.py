"""Converts a span of OpenTelemetry into the terms of a native span: name, layer, component, peer and tags.

This is done once, when the span ends: instrumentations add attributes until then. The names are templates, since the
collector keeps metrics for each: parts that look like an identifier or a statement are removed.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..instrument.libraries.http.http_call import template_of
from ..instrument.libraries.sql.sql_call import keyword_of
from ..instrument.settings import current as settings
from ..record.bounded_cache import remembered
from ..record.limits import as_text, name_of, short
from ..record.trace.model import Layer, SpanKind
from .libraries import CACHES, Library
from .peers import client_of, server_of
from .tags import tags_of

_ENTRY, _EXIT, _LOCAL = SpanKind.ENTRY, SpanKind.EXIT, SpanKind.LOCAL
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "HTTP", "_OTHER"})
_READS = frozenset(
    [
        "GET",
        "MGET",
        "GETRANGE",
        "STRLEN",
        "EXISTS",
        "TTL",
        "PTTL",
        "TYPE",
        "KEYS",
        "SCAN",
        "HGET",
        "HMGET",
        "HGETALL",
        "HKEYS",
        "HVALS",
        "HLEN",
        "HEXISTS",
        "HSCAN",
        "LINDEX",
        "LLEN",
        "LRANGE",
        "SCARD",
        "SISMEMBER",
        "SMEMBERS",
        "SSCAN",
        "ZCARD",
        "ZCOUNT",
        "ZRANGE",
        "ZRANK",
        "ZSCORE",
        "ZSCAN",
        "XLEN",
        "XRANGE",
        "XREAD",
        "GETS",
        "GETS_MANY",
        "GET_MANY",
        "GET_MULTI",
        "GAT",
        "STATS",
    ]
)
_SOME_WORDS = 3


class Described(NamedTuple):
    """A span in the terms of a native one."""

    name: str
    layer: Layer
    component: int
    peer: str
    tags: list[tuple[str, str]]


def describe(
    library: Library, kind: SpanKind, name: str, attributes: dict[str, Any], peer: str, real_path: bool
) -> Described:
    """A span as a native one.

    :param peer: where it is known already, since the context went there
    """
    layer, system = layer_of(attributes)
    tags = tags_of(attributes, is_cache=layer is Layer.CACHE)
    if not peer and kind is not _LOCAL:
        peer = client_of(attributes) if kind is _ENTRY and layer is not Layer.MQ else server_of(attributes, system)
    component = library.component(kind, system)
    if layer is Layer.HTTP:
        name = _describe_http(kind, name, attributes, tags, real_path)
    elif layer is Layer.DATABASE:
        name = _describe_query(name, attributes, tags)
    elif layer is Layer.CACHE:
        _describe_cache(name, attributes, tags)
    elif layer is Layer.MQ:
        _describe_message(attributes, tags, peer)
    elif layer is Layer.GEN_AI:
        _describe_model(tags)
    elif layer is Layer.RPC_FRAMEWORK and system == "grpc":
        _describe_grpc(name, attributes, tags)
    if kind is _EXIT and not peer and layer in (Layer.DATABASE, Layer.CACHE):
        peer = system  # it is in this process, or the library does not say: drawn by its kind
    return Described(plain_name(name), layer, component, "" if kind is _LOCAL else peer, list(tags.items()))


def layer_of(attributes: dict[str, Any]) -> tuple[Layer, str]:
    """The layer, and the system that is talked to, as far as an attribute names it."""
    # a library of messages or databases may well talk HTTP, and say so
    for key, layer in _LAYERS:
        if key in attributes:
            system = as_text(attributes[key]).lower()
            if layer is Layer.DATABASE and system in CACHES:
                return Layer.CACHE, system
            return layer, system
    return Layer.UNKNOWN, ""


_LAYERS = (
    ("messaging.system", Layer.MQ),
    ("db.system.name", Layer.DATABASE),
    ("db.system", Layer.DATABASE),
    ("gen_ai.provider.name", Layer.GEN_AI),
    ("gen_ai.system", Layer.GEN_AI),
    ("gen_ai.operation.name", Layer.GEN_AI),
    ("mcp.method.name", Layer.GEN_AI),
    ("rpc.system.name", Layer.RPC_FRAMEWORK),
    ("rpc.system", Layer.RPC_FRAMEWORK),
    ("http.request.method", Layer.HTTP),
    ("http.method", Layer.HTTP),
    ("url.full", Layer.HTTP),
    ("http.url", Layer.HTTP),
    ("faas.trigger", Layer.FAAS),
    ("faas.invoked_name", Layer.FAAS),
)


@remembered(1024)
def plain_name(name: str) -> str:
    """A name without what looks like an identifier, and without a query."""
    words = name.partition("?")[0].split(" ")
    return name_of(" ".join(map(template_of, words))) or "-"


# -- what each layer adds ------------------------------------------------------------------------------------------


def _describe_http(
    kind: SpanKind, name: str, attributes: dict[str, Any], tags: dict[str, str], real_path: bool
) -> str:  # fmt: skip
    method = tags.get("http.method", "")
    route = attributes.get("http.route") or attributes.get("url.template")
    route = as_text(route) if route else ""
    origin, path, template = _url_of(attributes)
    if path or route or origin:
        shown = path if kind is _ENTRY and real_path else route or template
        tags["http.url"] = short(origin + shown)
    if kind is _ENTRY:
        said, _, rest = name.partition(" ")
        if route or _is_bare(name):
            return f"{method}:{route or template}"
        return f"{said}:{rest}" if said in _METHODS and rest[:1] == "/" else name
    return (route or template or "/") if kind is _EXIT and _is_bare(name) else name


def _is_bare(name: str) -> bool:
    """Whether a name says no more than the method."""
    return name in _METHODS or all(word in _METHODS for word in name.split(" "))


def _url_of(attributes: dict[str, Any]) -> tuple[str, str, str]:
    """Scheme and host, the path, and the path without identifiers; none with credentials or a query."""
    url = attributes.get("url.full") or attributes.get("http.url")
    if url:
        return _split(url if type(url) is str else as_text(url))
    scheme = attributes.get("url.scheme") or attributes.get("http.scheme") or "http"
    target = attributes.get("url.path") or attributes.get("http.target") or ""
    host = attributes.get("server.address") or attributes.get("http.host") or attributes.get("http.server_name") or ""
    port = attributes.get("server.port") or attributes.get("net.host.port")
    where = as_text(host).rpartition("@")[2]
    if where and port and as_text(port) not in ("80", "443") and ":" not in where:
        where = f"{where}:{as_text(port)}"
    path = as_text(target).partition("?")[0].partition("#")[0]
    return f"{as_text(scheme)}://{where}" if where else "", path, template_of(path)


@remembered(1024)
def _split(url: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", "", ""
    path = parts.path or "/"
    return f"{parts.scheme or 'http'}://{parts.netloc.rpartition('@')[2]}", path, template_of(path)


def _describe_query(name: str, attributes: dict[str, Any], tags: dict[str, str]) -> str:
    statement = attributes.get("db.query.text") or attributes.get("db.statement")
    keyword = ""
    if " " in tags.get("db.operation", ""):
        tags["db.operation"] = tags["db.operation"].partition(" ")[0]
    if statement:
        keyword = keyword_of(statement)
        if keyword:
            tags.setdefault("db.operation", keyword)
        if settings().sql_statements:
            tags["db.statement"] = short(as_text(statement))
    # some take the statement itself for a name
    if name.upper() == keyword:
        return keyword
    is_statement = name == statement or "\n" in name or len(name.split()) > _SOME_WORDS
    return (keyword or keyword_of(name) or tags.get("db.type", "query")) if is_statement else name


def _describe_cache(name: str, attributes: dict[str, Any], tags: dict[str, str]) -> None:
    statement = attributes.get("db.query.text") or attributes.get("db.statement")
    command = tags.get("cache.cmd") or (keyword_of(statement) if statement else "") or name.partition(" ")[0]
    command = command.upper()
    tags["cache.cmd"] = command
    tags["cache.op"] = "read" if command in _READS else "write"


def _describe_message(attributes: dict[str, Any], tags: dict[str, str], peer: str) -> None:
    if as_text(attributes.get("messaging.destination_kind") or "") == "queue" and "mq.topic" in tags:
        tags["mq.queue"] = tags.pop("mq.topic")
    if peer:
        tags["mq.broker"] = peer


def _describe_model(tags: dict[str, str]) -> None:
    """As the native spans of such calls: see `llm_call`."""
    if "gen_ai.provider.name" in tags:
        tags["gen_ai.provider.name"] = tags["gen_ai.provider.name"].lower()
    if "gen_ai.request.model" in tags:
        tags.setdefault("gen_ai.response.model", tags["gen_ai.request.model"])
    seconds = tags.pop("gen_ai.response.time_to_first_chunk", "")
    if _SECONDS.fullmatch(seconds):
        tags.setdefault("gen_ai.server.time_to_first_token", str(round(float(seconds) * 1000)))


_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,20})?([eE]-[0-9]{1,2})?")


def _describe_grpc(name: str, attributes: dict[str, Any], tags: dict[str, str]) -> None:
    service, method = (as_text(attributes.get(key) or "") for key in ("rpc.service", "rpc.method"))
    tags["grpc.method"] = f"/{service}/{method}" if service and "/" not in method else method or name
