"""What a request's scope says of it: who key, which host, in which trace, and its tags as they are written."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ..record.bounded_cache import BoundedCache
from ..record.limits import address_of, name_of, short
from ..record.trace.carrier import Carrier, parse_correlation, parse_sw8
from ..record.trace.model import Layer, SpanKind
from ..record.trace.single_span import SpanTemplate
from ..record.trace.tracer import Tracer
from .routes import method_of

Scope = MutableMapping[str, Any]
Tag = tuple[str, str]

_MAX_HOST = 255


Request = tuple[str, str, str, str, Carrier | None, dict[str, str] | None]
"""What is known of a request before it is routed: its method; the operation's name by its path, until a route is known;
the peer; scheme and host as the client wrote them; the caller's context and what it sent along."""


def read(scope: Scope, tracer: Tracer) -> Request:
    """Read a scope. What servers and clients may write is bounded and cleaned.

    :raises Exception: whatever comes of a scope that is not of the ASGI specification
    """
    is_http = scope["type"] == "http"
    method = method_of(scope) if is_http else "WEBSOCKET"
    sw8 = correlation = host = None
    count = 0
    for name, value in scope["headers"]:
        if name == b"host":
            host = value
        elif name == b"sw8":
            sw8 = value
            count += 1
        elif name == b"sw8-correlation":
            correlation = value
    if host is None:
        host = _server(scope)
    carrier = elements = None
    # the caller's context, where there is exactly one and it is trusted
    if sw8 is not None and count == 1 and tracer.trusts(scope):
        carrier = parse_sw8(sw8)
        if correlation and carrier:
            elements = parse_correlation(correlation, *tracer.correlation_limits)
    client = scope.get("client")
    peer = PEERS[tuple(client)] if client else ""
    origin = ORIGINS[scope.get("scheme", "http" if is_http else "ws"), host]
    return method, name_of(f"{method}:{scope['path']}"), peer, origin, carrier, elements


def _server(scope: Scope) -> bytes:
    server = scope.get("server")
    return f"{server[0]}:{server[1]}".encode("latin-1", "replace") if server else b""


def _origin(key: tuple[str, bytes]) -> str:
    scheme, host = key
    # what stands before an @ is no part of a host, and may be a password
    return f"{scheme}://{host.decode('latin-1')[:_MAX_HOST].rpartition('@')[2]}"


def _peer(client: tuple[Any, ...]) -> str:
    return address_of(f"{client[0]}:{client[1]}")


def _route(key: tuple[str, str, str]) -> tuple[str, Tag]:
    method, origin, template = key
    return name_of(f"{method}:{template}"), ("http.url", short(origin + template))


def _span_template(key: tuple[str, str, str, int, int]) -> SpanTemplate:
    method, origin, template, component, status = key
    name, url = _route((method, origin, template))
    tags = tags_of(method, url, status)
    return SpanTemplate(name, SpanKind.ENTRY, Layer.HTTP, component, tags, failed=status >= 500)


def tags_of(method: str, url: Tag, status: int) -> tuple[Tag, ...]:
    """What every request is tagged with.

    :param status: 0 where the response never began
    """
    return (METHODS[method], url, STATUSES[status]) if status else (METHODS[method], url)


# What comes again and again, as it is written: connections, hosts, routes, methods, statuses.
ORIGINS = BoundedCache(_origin)
PEERS = BoundedCache(_peer)
ROUTES = BoundedCache(_route)
"""By method, origin and template: the operation's name and the tag of the URL."""
METHODS: BoundedCache[str, Tag] = BoundedCache(
    lambda method: ("http.method", "GET" if method == "WEBSOCKET" else method)
)
STATUSES: BoundedCache[int, Tag] = BoundedCache(lambda status: ("http.status_code", str(int(status))))
SPAN_TEMPLATES = BoundedCache(_span_template)
"""By method, origin, template, component and status: a request's span, but for its times and its peer."""
