"""The facts in the scope of a request: its caller, host, route and trace.

A scope is that of the ASGI specification; other servers write one for each request.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ..record.trace.carrier import Carrier, parse_correlation, parse_sw8
from ..record.trace.model import Component
from ..record.trace.traceparent import Traceparent, parse_traceparent
from ..record.trace.tracer import Tracer
from .facts import OTHER, UNMATCHED, WEBSOCKET
from .faults import Faults
from .routes import ARE_FASTAPI, FASTAPI, METHODS, PYTHON, component_of, is_unmatched, route_template

Scope = MutableMapping[str, Any]
_READ = frozenset({b"host", b"sw8", b"traceparent"})


def read_facts(scope: Scope, host: bytes | None, status: int, faults: Faults) -> tuple[Any, ...]:
    """The fields of `Facts`, for a request that has been routed.

    :param host: the value of its header
    :param status: of the response, 0 until it has begun
    :param faults: counts the objects of a framework that cannot be read
    :raises Exception: any error that a scope against the ASGI specification leads to
    """
    try:
        template = route_template(scope)
        if template is None and is_unmatched(scope, status > 0):
            template = UNMATCHED
        # as in `component_of`, without the call
        component = FASTAPI if "app" in scope and ARE_FASTAPI[type(scope["app"])] else component_of(scope)
    except Exception:  # noqa: BLE001, RUF100  (a framework's objects, read from outside: each by itself, then)
        template, component = read_template(scope, status, faults), _read_component(scope, faults)
    is_http = scope["type"] == "http"
    method = scope["method"] if is_http else WEBSOCKET
    # no Facts yet: making them takes as long as all of this, and most requests need none
    return (
        method if method in METHODS else OTHER,
        scope.get("scheme", "http" if is_http else "ws"),
        _server(scope) if host is None else host,
        scope["path"],
        template,
        component,
        status,
    )


def read_template(scope: Scope, status: int, faults: Faults) -> str | None:
    """The template of the route, as in `Facts`."""
    try:
        template = route_template(scope)
        if template is not None:
            return template
        return UNMATCHED if is_unmatched(scope, status > 0) else None
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        faults.note("naming an operation", error)
        return None


def _read_component(scope: Scope, faults: Faults) -> Component:
    try:
        return component_of(scope)
    except Exception as error:  # noqa: BLE001, RUF100  (as above)
        faults.note("naming an operation", error)
        return PYTHON


def read_target(scope: Scope) -> tuple[str, str]:
    """Method and path, as in `Facts`.

    :raises Exception: any error that a scope against the ASGI specification leads to
    """
    method = scope["method"] if scope["type"] == "http" else WEBSOCKET
    return method if method in METHODS else OTHER, scope["path"]


def read_operation(scope: Scope, status: int, faults: Faults) -> tuple[str, str, str | None]:
    """Method, path and template, as in `Facts`: the name of the operation so far is made of them."""
    method = scope["method"] if scope["type"] == "http" else WEBSOCKET
    return method if method in METHODS else OTHER, scope["path"], read_template(scope, status, faults)


def read_headers(scope: Scope) -> tuple[bytes | None, bytes | None, bool]:
    """The headers that every request is searched for: its host, the `sw8` if there is exactly one, and whether there is
    a `traceparent`. In one pass, because a search for each name would take as long.

    :raises Exception: any error that a scope against the ASGI specification leads to
    """
    host = caller = None
    callers, is_traced_otherwise = 0, False
    for name, value in scope["headers"]:
        if name in _READ:
            if name == b"host":
                host = value if host is None else host
            elif name == b"sw8":
                caller = value if callers == 0 else None
                callers += 1
            else:
                is_traced_otherwise = True
    return host, caller, is_traced_otherwise


def read_carrier(scope: Scope, caller: bytes, tracer: Tracer) -> tuple[Carrier | None, dict[str, str] | None]:
    """The context and the correlation of the caller.

    :param caller: its header `sw8`, which is trusted
    """
    carrier = parse_sw8(caller)
    if carrier is None:
        return None, None
    correlation = [value for name, value in scope["headers"] if name == b"sw8-correlation"]
    if not correlation or not correlation[-1]:
        return carrier, None
    return carrier, parse_correlation(correlation[-1], *tracer.correlation_limits)


def read_traceparent(scope: Scope, tracer: Tracer) -> Traceparent | None:
    """The trace of a caller that sends no `sw8`, if there is exactly one and it is trusted."""
    if not tracer.traceparent:
        return None
    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    if len(found) != 1 or not tracer.trusts(scope):
        return None
    # several headers of this name are one list (W3C Trace Context)
    state = b",".join(value for name, value in scope["headers"] if name == b"tracestate")
    return parse_traceparent(found[0], state)


def _server(scope: Scope) -> bytes:
    server = scope.get("server")
    return f"{server[0]}:{server[1]}".encode("latin-1", "replace") if server else b""
