"""The entry span of one request: active before the application sees it, ended with the last byte of the response.

It costs every request, so inside one it does no more than it must: it notes when the request began, which status was
sent and when it was over. The rest is `_asgi_operation`'s, later.

Whatever fails in here is noted and goes no further; what the application and the server raise passes.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ._asgi_faults import Faults
from ._asgi_operation import OperationSpan
from ._asgi_routes import included_route
from ._asgi_scope import Scope
from .record.context import current, not_ended, switch
from .record.log_guard import agent_at_work
from .record.tracer import Tracer

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

# Marks a scope that a middleware has taken already, so that a second one inside the first stands aside.
MARK = "swagent.span"
# Bodies that the server reads by itself are among them.
_BODIES = frozenset({"http.response.body", "http.response.pathsend", "http.response.zerocopysend"})
# What frameworks raise into an application whose client went away.
_DISCONNECTS = frozenset({"ClientDisconnect", "ClientDisconnected", "WebSocketDisconnect"})


class RequestSpan(OperationSpan):
    """The entry span of one http or websocket scope, with what it must remember to follow it to its end."""

    __slots__ = ("_client_is_gone", "_send")

    def __init__(self, tracer: Tracer, scope: Scope, send: Send, faults: Faults) -> None:
        """Begins it as well; whoever makes it calls `leave` when the application has returned."""
        super().__init__(tracer, scope, faults)
        self._send: Send = send
        self._client_is_gone = False
        left_behind = self.previous = current.get()
        scope[MARK] = self
        if left_behind is not None or not tracer.decides_late or agent_at_work.get():
            self._open_among(left_behind)
        switch(current, self)

    def send(self, message: Message) -> Awaitable[None]:
        """The application's `send`: notes the status, and ends the span when the response has gone out."""
        try:
            is_start = message["type"] == "http.response.start"
            if is_start:
                self._status = message["status"]
        except Exception as error:  # noqa: BLE001, RUF100  (ours, or a message that the server will judge)
            self._faults.note("following a response", error)
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
        try:
            kind = message["type"]
            if kind in _BODIES:
                # a failed response stays open for the exception that explains it
                if not message.get("more_body", False) and self._status < 500:
                    self.stop()
            elif kind == "websocket.accept":
                self._status = 101
            elif kind == "websocket.http.response.start":
                self._status = message["status"]
            elif kind == "websocket.close":
                # closed before it was accepted, the server refuses the handshake with this
                self._status = self._status or 403
        except Exception as error:  # noqa: BLE001, RUF100  (ours)
            self._faults.note("following a response", error)

    def leave(self, error: BaseException | None) -> None:
        """The application has returned, or raised."""
        try:
            if not self.ended:
                # a cancellation is the client or the server going away: an end, not a failure of the operation
                if isinstance(error, Exception):
                    self._fail(error)
                self.stop()
        except Exception as fault:  # noqa: BLE001, RUF100  (ours)
            self._faults.note("ending the span of a request", fault)
        if current.get() is self:
            # the server may serve its next request in this very context
            switch(current, self.previous)

    def stop(self) -> None:
        """End now. It stays the active one: what the application does after its response belongs to the trace still."""
        if self.ended:
            return
        if self.previous is not None:
            self.previous = not_ended(self.previous)
        end_time = time.monotonic()
        self._included = included_route(self._scope)
        with self._tracer.lock:
            # two threads may stop one span at the same time, or another be opening it
            if self.ended:
                return
            is_open = self._is_open
            if not is_open:
                self.end_time = end_time
                self.ended = True
        defer = self._tracer.defer
        if is_open or defer is None:
            self._end(self.epoch + end_time)
        else:
            defer(self)

    def _fail(self, error: Exception) -> None:
        is_gone = self._client_is_gone or (isinstance(error, OSError) and _passed_through(self._send, error))
        if is_gone or type(error).__name__ in _DISCONNECTS:
            # an end as well, and whatever the framework answered, nobody was there to take it
            self._status = self._status if self._status < 500 else 0
            return
        self.error(error)
        # what a server answers for an application that raised before it answered
        self._status = self._status or 500


def _passed_through(send: Send, error: BaseException) -> bool:
    """Whether an error was raised below the server's `send`, as far as that is a Python function."""
    code = getattr(getattr(send, "__func__", send), "__code__", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        trace = trace.tb_next
    return False
