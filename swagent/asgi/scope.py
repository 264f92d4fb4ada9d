"""What a request's scope says of it: who asked, which host, in which trace."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ..record.trace.carrier import Carrier, parse_correlation, parse_sw8
from ..record.trace.model import Component
from ..record.trace.request import OTHER, UNMATCHED, WEBSOCKET
from ..record.trace.traceparent import Traceparent, parse_traceparent
from ..record.trace.tracer import Tracer
from .faults import Faults
from .routes import METHODS, component_of, is_unmatched, route_template

Scope = MutableMapping[str, Any]


def read_facts(scope: Scope, headers: dict[bytes, bytes], status: int, faults: Faults) -> tuple[Any, ...]:
    """What `Facts` holds, of a request that has been routed, as far as frameworks tell.

    :param headers: of the scope
    :param status: of the response, 0 until it has begun
    :param faults: told where a framework's objects cannot be read
    :raises Exception: whatever comes of a scope that is not of the ASGI specification
    """
    template, component = None, Component.PYTHON
    try:
        component = component_of(scope)
        template = route_template(scope)
        if template is None and is_unmatched(scope, status > 0):
            template = UNMATCHED
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        faults.note("naming an operation", error)
    is_http = scope["type"] == "http"
    method = scope["method"] if is_http else WEBSOCKET
    # no Facts yet: making one takes as long as all of this, and most requests need none
    return (
        method if method in METHODS else OTHER,
        scope.get("scheme", "http" if is_http else "ws"),
        host if (host := headers.get(b"host")) is not None else _server(scope),
        scope["path"],
        template,
        component,
        status,
    )


def read_carrier(scope: Scope, tracer: Tracer) -> tuple[Carrier | None, dict[str, str] | None]:
    """The caller's context and what it sent along, where there is exactly one and it is trusted."""
    found = [value for name, value in scope["headers"] if name == b"sw8"]
    if len(found) != 1 or not tracer.trusts(scope):
        return None, None
    carrier = parse_sw8(found[0])
    correlation = [value for name, value in scope["headers"] if name == b"sw8-correlation"]
    if carrier is None or not correlation or not correlation[-1]:
        return carrier, None
    return carrier, parse_correlation(correlation[-1], *tracer.correlation_limits)


def read_traceparent(scope: Scope, tracer: Tracer) -> Traceparent | None:
    """The trace of a caller that knows no `sw8`, where there is exactly one and it is trusted."""
    if not tracer.traceparent:
        return None
    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(found) != 1 or not tracer.trusts(scope):
        return None
    # several headers of this name are one list, and no header forbids more than that
    state = b",".join(value for name, value in scope["headers"] if name == b"tracestate")
    return parse_traceparent(found[0], state)


def _server(scope: Scope) -> bytes:
    server = scope.get("server")
    return f"{server[0]}:{server[1]}".encode("latin-1", "replace") if server else b""
