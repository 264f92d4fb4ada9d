"""The `send` of an application, which notes the response of a request on its way to the server.

An error in this module is counted and goes no further; exceptions of the application and the server pass.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from inspect import CO_COROUTINE, iscoroutinefunction
from types import CodeType, MethodType
from typing import Any

from ..request.pending import Following, PendingRequest

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

# Including bodies that the server reads by itself.
_BODIES = frozenset({"http.response.body", "http.response.pathsend", "http.response.zerocopysend"})
_NO_CODE: CodeType = (lambda: None).__code__


def traced_send(request: PendingRequest, send: Send) -> Send:
    """The `send` of an application whose request is traced: it notes the status, and ends the request with
    the response. It is a coroutine function if the server's is one: applications check that.

    It is a method, as the `send` of most servers: a class that has it among its attributes does not bind it anew.

    :param send: the server's
    """
    try:
        # the flags of the code show it for most, and sooner than `inspect`
        if not (getattr(send, "__code__", _NO_CODE).co_flags & CO_COROUTINE or iscoroutinefunction(send)):
            return _traced_callable(request, send)
    except Exception as error:  # noqa: BLE001, RUF100  (an unusual callable; it costs no request)
        request.faults.note("following a response", error)
        return send

    # its object is a tuple, because one of a class would be one more that the garbage collector counts in each request
    return MethodType(_send, (request, send))


async def _send(around: tuple[PendingRequest, Send], message: Message) -> None:
    """Send a message of the application."""
    request, send = around
    try:
        kind = message["type"]
        if kind == "http.response.start":
            status = message["status"]
            request.status = status if type(status) is int else int(status)
        elif (
            kind == "http.response.body"
            and 0 < request.status < 500
            and request.following is None
            and not ("more_body" in message and message["more_body"])  # noqa: RUF019, RUF100  (`get` is a call)
        ):
            # before the last byte: the client may not see the end of a request sooner than its span does
            request.finish()
        elif request.following is None:
            request.following = Following()
    except Exception as error:  # noqa: BLE001, RUF100  (ours, or a message that the server will judge)
        request.faults.note("following a response", error)
    if request.following is None:
        return await send(message)
    return await send_and_follow(request, send, message)


def _traced_callable(request: PendingRequest, send: Any) -> Send:
    """The same for a `send` that is no coroutine function: an object, or a function that returns an awaitable. Such a
    function may do its work at the call, so the application gets the awaitable itself."""
    if iscoroutinefunction(getattr(send, "__call__", None)):  # noqa: B004, RUF100  (the method itself is meant)
        return _TracedObject(traced_send(request, send.__call__))

    def follow(message: Message) -> Awaitable[None]:
        try:
            _note_sent(request, message)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, or a message that the server will judge)
            request.faults.note("following a response", error)
        try:
            return send(message)  # type: ignore[no-any-return]
        except OSError:
            _note_gone(request)
            raise

    return follow


class _TracedObject:
    """A `send` that is an object, as the server's is."""

    def __init__(self, follow: Send) -> None:
        self._follow = follow

    async def __call__(self, message: Message) -> None:
        await self._follow(message)


async def send_and_follow(request: PendingRequest, send: Send, message: Message) -> None:
    """Send a message, and note it when the server has it."""
    try:
        await send(message)
    except OSError:
        _note_gone(request)
        raise
    try:
        _note_sent(request, message)
    except Exception as error:  # noqa: BLE001, RUF100  (ours)
        request.faults.note("following a response", error)


def note_message(request: PendingRequest, message: Message) -> None:
    """Note a message that goes to the server. Never raises."""
    try:
        kind = message["type"]
        if kind == "http.response.start":
            request.status = int(message["status"])
        elif (
            kind == "http.response.body"
            and 0 < request.status < 500
            and request.following is None
            and not message.get("more_body", False)
        ):
            request.finish()
        elif request.following is None:
            request.following = Following()
    except Exception as error:  # noqa: BLE001, RUF100  (ours, or a message that the server will judge)
        request.faults.note("following a response", error)


def _note_gone(request: PendingRequest) -> None:
    """An OSError is how a server says that the client is gone (ASGI specification, 2.4)."""
    request.following = request.following or Following()
    request.following.client_is_gone = True


def _note_sent(request: PendingRequest, message: Message) -> None:
    kind = message["type"]
    if kind == "http.response.start":
        request.status = int(message["status"])
    elif kind in _BODIES:
        # a failed response stays open for the exception that explains it
        if not message.get("more_body", False) and request.status < 500:
            request.finish()
    elif kind == "websocket.accept":
        request.status = 101
    elif kind == "websocket.http.response.start":
        request.status = int(message["status"])
    elif kind == "websocket.close":
        # closed before it was accepted, the server refuses the handshake with this
        request.status = request.status or 403
