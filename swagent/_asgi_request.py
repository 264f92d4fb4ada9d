"""The entry span of one request: opened before the application sees it, ended with the last byte of the response.

It costs every request, so it does each thing once: one walk over the headers, no allocation that a constant replaces.
Whatever fails in here is noted and goes no further; what the application and the server raise passes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any

from ._asgi_routes import UNMATCHED, component_of, is_unmatched, method_of, route_template
from ._log import LimitedLog
from .record.carrier import Carrier, parse_correlation, parse_sw8
from .record.context import current, switch
from .record.limits import name_of, short
from .record.names import OVERFLOW
from .record.segment import Component, Layer, SpanKind
from .record.span import Span
from .record.tracer import Tracer

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

# Marks a scope that a middleware has taken already, so that a second one inside the first stands aside.
MARK = "swagent.span"
_MAX_HOST = 255
# Bodies that the server reads by itself.
_BODIES = frozenset({"http.response.pathsend", "http.response.zerocopysend"})
# What frameworks raise into an application whose client went away.
_DISCONNECTS = frozenset({"ClientDisconnect", "ClientDisconnected", "WebSocketDisconnect"})


class Faults:
    """What went wrong in the middleware itself.

    :ivar count: how often so far
    """

    def __init__(self) -> None:
        self.count = 0
        self._limited = LimitedLog()

    def note(self, work: str, error: Exception) -> None:
        """Count an error, and log it unless the same work failed just now.

        :param work: one of a few fixed texts
        """
        self.count += 1
        self._limited.warn(work, "%s failed, and the request goes on: %r", work, error)


class RequestSpan:
    """One http or websocket scope; a context manager around the application's call."""

    __slots__ = ("_client_is_gone", "_endpoints", "_faults", "_method", "_origin", "_scope", "_send", "_span",
                 "_status")  # fmt: skip

    def __init__(self, tracer: Tracer, scope: Scope, send: Send, faults: Faults) -> None:
        self._scope = scope
        self._send = send
        self._faults = faults
        self._status = 0
        self._client_is_gone = False
        is_http = scope["type"] == "http"
        method = self._method = method_of(scope) if is_http else "WEBSOCKET"
        self._endpoints = tracer.endpoints
        path: str = scope["path"]
        carrier, correlation, host = _read_headers(tracer, scope)
        self._origin = f"{scope.get('scheme', 'http' if is_http else 'ws')}://{host}"
        span = self._span = Span(
            f"{method}:{path}", SpanKind.ENTRY, layer=Layer.HTTP, component=Component.PYTHON, peer=_peer(scope),
            carrier=carrier, correlation=correlation, tracer=tracer)  # fmt: skip
        scope[MARK] = span
        # from here on nothing may fail: the span is active, and whoever made us would not know to end it
        span.start()
        segment = span.segment
        if segment is not None:
            segment.naming = self._name
            span.tags += (("http.method", method if is_http else "GET"), ("http.url", short(self._origin + path)))

    async def send(self, message: Message) -> None:
        """The application's `send`: notes the status, and ends the span when the response has gone out."""
        try:
            await self._send(message)
        except OSError:
            # how a server says that the client is gone (ASGI specification, 2.4)
            self._client_is_gone = True
            raise
        try:
            kind = message["type"]
            if kind == "http.response.start":
                self._status = message["status"]
            elif kind == "http.response.body":
                # a failed response stays open for the exception that explains it
                if not message.get("more_body", False) and self._status < 500:
                    self._end()
            else:
                self._note(kind, message)
        except Exception as error:  # noqa: BLE001, RUF100  (ours)
            self._faults.note("following a response", error)

    def _note(self, kind: str, message: Message) -> None:
        """What is said rarely, or in a websocket."""
        if kind in _BODIES:
            if not message.get("more_body", False) and self._status < 500:
                self._end()
        elif kind == "websocket.accept":
            self._status = 101
        elif kind == "websocket.http.response.start":
            self._status = message["status"]
        elif kind == "websocket.close":
            # closed before it was accepted, the server refuses the handshake with this
            self._status = self._status or 403

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            # a cancellation is the client or the server going away: an end, not a failure of the operation
            if isinstance(error, Exception):
                self._fail(error)
            self._end()
        except Exception as fault:  # noqa: BLE001, RUF100  (ours)
            self._faults.note("ending the span of a request", fault)
        if current.get() is self._span:
            # the server may serve its next request in this very context
            switch(current, self._span.previous)

    def _fail(self, error: Exception) -> None:
        if self._client_is_gone or type(error).__name__ in _DISCONNECTS:
            # an end as well, and whatever the framework answered, nobody was there to take it
            self._status = self._status if self._status < 500 else 0
            return
        self._span.error(error)
        # what a server answers for an application that raised before it answered
        self._status = self._status or 500

    def _end(self) -> None:
        span = self._span
        if span.ended:
            return
        is_active = current.get() is span
        try:
            if span.segment is not None:
                template = self._template()
                span.name = self._name_by(template)
                if template is not None:
                    self._tell_route(template)
                if component_of(self._scope) == "fastapi":
                    span.component = Component.FASTAPI
                status = self._status
                if status:
                    span.tag("http.status_code", int(status))
                    if status >= 500:
                        span.error()
        finally:
            span.stop()
            if is_active:
                # what the application does after its response belongs to the trace still
                switch(current, span)

    def _tell_route(self, template: str) -> None:
        """Let the URL show the route: what stands in the path instead of a parameter may be a secret, such as the token
        of a reset link."""
        tags = self._span.tags
        if len(tags) > 1 and tags[1][0] == "http.url":
            tags[1] = ("http.url", short(self._origin + template))

    def _name(self) -> str:
        """The operation's name as far as it is known by now. The application calls it too, through `span.headers()`."""
        return self._name_by(self._template())

    def _name_by(self, template: str | None) -> str:
        method = self._method
        if template is None and self._is_unmatched():
            return f"{method}:{UNMATCHED}"
        name = self._span.name if template is None else name_of(f"{method}:{template}")
        return self._endpoints.keep(name, f"{method}:{OVERFLOW}", is_made_up=template is None)

    def _template(self) -> str | None:
        try:
            return route_template(self._scope)
        except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
            self._faults.note("naming an operation", error)
            return None

    def _is_unmatched(self) -> bool:
        try:
            return is_unmatched(self._scope, self._status > 0)
        except Exception as error:  # noqa: BLE001, RUF100  (as above)
            self._faults.note("naming an operation", error)
            return False


def _read_headers(tracer: Tracer, scope: Scope) -> tuple[Carrier | None, dict[str, str] | None, str]:
    """The caller's context, where there is exactly one and it is trusted, and the host that was asked for."""
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
    # what stands before an @ is no part of a host, and may be a password
    text = host.decode("latin-1")[:_MAX_HOST].rpartition("@")[2] if host is not None else _server(scope)
    if sw8 is None or count > 1 or not tracer.trusts(scope):
        return None, None, text
    carrier = parse_sw8(sw8)
    elements = parse_correlation(correlation, *tracer.correlation_limits) if correlation and carrier else None
    return carrier, elements, text


def _server(scope: Scope) -> str:
    server = scope.get("server")
    return f"{server[0]}:{server[1]}" if server else ""


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return f"{client[0]}:{client[1]}" if client else ""
