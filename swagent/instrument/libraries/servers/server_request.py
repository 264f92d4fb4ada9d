"""A request to a server that speaks neither ASGI nor WSGI: its span is that of every other request.

Its facts are written into a scope as ASGI has it. The server's hook begins it, notes its route, its status and
its error, and ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....hosting.late_start import note_serving
from ....record.trace.model import Component
from ....record.trace.tracer import running
from ....request import failure
from ....request.facts import UNMATCHED
from ....request.faults import Faults
from ....request.pending import PendingRequest
from ....request.routes import COMPONENT, ROUTE
from ....request.scope import Scope

_faults = Faults()


def begin_request(
    component: Component,
    method: str,
    scheme: str,
    path: str,
    headers: Iterable[tuple[str, str]],
    client: tuple[Any, ...] | None,
    query: str = "",
) -> PendingRequest | None:
    """Begin a request, which becomes the active one of this context. None: there is no agent.

    :param path: without query
    :param headers: all, in the order in which they came
    :param client: address and port
    """
    tracer = running()
    if tracer is None:
        return None
    # not every such server says that it begins to serve
    note_serving()
    encoded = [(name.lower().encode("latin-1", "replace"), value.encode("utf-8", "replace")) for name, value in headers]
    is_websocket = any(name == b"upgrade" and value.lower() == b"websocket" for name, value in encoded)
    scope: Scope = {
        "type": "websocket" if is_websocket else "http",
        "method": method,
        "scheme": scheme,
        "path": path,
        "query_string": query.encode("utf-8", "replace"),
        "headers": encoded,
        "client": client,
        COMPONENT: component,
    }
    return PendingRequest(tracer, scope, _faults)


def address_of(peer: Any) -> tuple[Any, ...] | None:
    """Address and port of a socket's other end; None where it has none, as a socket of the file system."""
    return (peer[0], peer[1]) if isinstance(peer, tuple) else None  # pyright: ignore[reportUnknownVariableType]


def note_route(request: PendingRequest, template: str | None) -> None:
    """Name the route that took the request.

    :param template: None: no route did
    """
    if not request.ended:
        request.scope[ROUTE] = UNMATCHED if template is None else template


def note_error(request: PendingRequest, error: BaseException, status: int) -> None:
    """An error that left the application's code.

    :param status: that is answered for it; below 500 it is an answer like any other
    """
    if not status or status >= 500:
        failure.note_error(request, error)


def end_request(request: PendingRequest, status: int) -> None:
    """The response has gone out.

    :param status: 0: there is none
    """
    if not request.ended:
        request.status = status
        request.finish()
    request.leave()
