"""The application's `send`: follows the response from its status to its last byte.

Whatever fails in here is noted and goes no further; what the application and the server raise passes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .request import RequestSpan

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

# Bodies that the server reads by itself are among them.
_BODIES = frozenset({"http.response.body", "http.response.pathsend", "http.response.zerocopysend"})
# What frameworks raise into an application whose client went away.
_DISCONNECTS = frozenset({"ClientDisconnect", "ClientDisconnected", "WebSocketDisconnect"})


class TracedSend:
    """Is called as `send`, by the application."""

    __slots__ = ("_client_is_gone", "_send", "_span")

    def __init__(self, span: RequestSpan, send: Send) -> None:
        """
        :param span: that ends with the response
        :param send: the server's
        """
        self._span = span
        self._send: Send = send
        self._client_is_gone = False

    def __call__(self, message: Message) -> Awaitable[None]:
        """Send a message on. Notes the status, and ends the span when the response has gone out."""
        try:
            is_start = message["type"] == "http.response.start"
            if is_start:
                self._span.status = message["status"]
        except Exception as error:  # noqa: BLE001, RUF100  (ours, or a message that the server will judge)
            self._span.faults.note("following a response", error)
            is_start = False
        # a start is half of what is sent and ends nothing, so it is not awaited in here as well
        return self._send(message) if is_start else self._send_and_follow(message)

    async def _send_and_follow(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError:
            # how a server says that the client is gone (ASGI specification, 2.4)
            self._client_is_gone = True
            raise
        span = self._span
        try:
            kind = message["type"]
            if kind in _BODIES:
                # a failed response stays open for the exception that explains it
                if not message.get("more_body", False) and span.status < 500:
                    span.stop()
            elif kind == "websocket.accept":
                span.status = 101
            elif kind == "websocket.http.response.start":
                span.status = message["status"]
            elif kind == "websocket.close":
                # closed before it was accepted, the server refuses the handshake with this
                span.status = span.status or 403
        except Exception as error:  # noqa: BLE001, RUF100  (ours)
            span.faults.note("following a response", error)

    def leave(self, error: BaseException | None) -> None:
        """The application has returned, or raised."""
        span = self._span
        try:
            if not span.ended:
                # a cancellation is the client or the server going away: an end, not a failure of the operation
                if isinstance(error, Exception):
                    self._fail(error)
                span.stop()
        except Exception as fault:  # noqa: BLE001, RUF100  (ours)
            span.faults.note("ending the span of a request", fault)
        span.leave()

    def _fail(self, error: Exception) -> None:
        span = self._span
        is_gone = self._client_is_gone or (isinstance(error, OSError) and _passed_through(self._send, error))
        if is_gone or type(error).__name__ in _DISCONNECTS:
            # an end as well, and whatever the framework answered, nobody was there to take it
            span.status = span.status if span.status < 500 else 0
            return
        span.error(error)
        # what a server answers for an application that raised before it answered
        span.status = span.status or 500


def _passed_through(send: Send, error: BaseException) -> bool:
    """Whether an error was raised below the server's `send`, as far as that is a Python function."""
    code = getattr(getattr(send, "__func__", send), "__code__", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        trace = trace.tb_next
    return False
