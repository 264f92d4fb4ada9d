"""grpclib: a client's `Stream`, from its first use to its end, and a server's methods, by the event of a request.

The reports of an agent, such as this one's by the same library, are left alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ....hosting.late_start import note_serving
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import outer_call, safely, settle
from ...instrumentation import Instrumentation
from ...listeners import Listener
from ...looking import after_call, before_call
from ...patches import Patches
from ...wrapping import around_call
from ..http.http_call import CONTEXT_HEADERS, peer_of
from .grpc_call import begin_grpc_call, is_left_out, note_code, serve_grpc_call

_SPAN = "_swagent_span"
_UNKNOWN = 2


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "grpclib.client":
        patches.wrap(module.Stream, "send_request", before_call(partial(_begin, patches.listeners.on_request)))
        patches.wrap(
            module.Stream, "__aexit__", around_call(_take, partial(_left, patches.listeners.on_response), _ended)
        )
    else:
        patches.wrap(module.Server, "__init__", after_call(_listen))


# -- a client ---------------------------------------------------------------------------------------------------------


def _left(listener: Listener | None, span: Span, _: object, stream: Any, args: Args, kwargs: Kwargs) -> None:
    error = argument(args, kwargs, 1, "exc_val")
    if listener is not None and error is None:
        listener.show(span, lambda: stream)
    _ended(span, error)


def _take(stream: Any, *_: object) -> Span | None:
    """The span of a stream's call, which ends now."""
    span: Span | None = stream.__dict__.pop(_SPAN, None)
    return span


def _begin(listener: Listener | None, stream: Any, *_: object) -> None:
    """Begin a call's span, and write its context, or that of the call that this one is a part of."""
    channel = stream._channel  # noqa: SLF001
    if stream.__dict__.get(_SPAN) is not None:
        return
    span = begin_grpc_call(stream._method_name, _peer(channel))  # noqa: SLF001
    carried = span or outer_call()
    if span is not None:
        # what is done between two messages is no part of it
        span.step_aside()
        stream.__dict__[_SPAN] = span
        if listener is not None:
            listener.show(span, lambda: stream)
    if carried is not None:
        metadata = stream._metadata  # noqa: SLF001
        for name in CONTEXT_HEADERS:
            metadata.popall(name, None)
        metadata.update(carried.headers())


def _peer(channel: Any) -> str:
    if channel._path is not None:  # noqa: SLF001
        return str(channel._path)  # noqa: SLF001
    return peer_of("", channel._host, channel._port)  # noqa: SLF001


def _ended(span: Span, error: BaseException | None) -> None:
    status = getattr(error, "status", None)
    if error is None or status is not None:
        note_code(span, status)
    else:
        # its deadline is the caller's own, as that of the other library
        span.note_outcome(error)
    span.stop()


# -- a server ---------------------------------------------------------------------------------------------------------


def _listen(server: Any, *_: object) -> None:
    from grpclib.events import RecvRequest, listen  # noqa: PLC0415, RUF100  (the server has imported it)

    listen(server, RecvRequest, _on_request)
    note_serving()


async def _on_request(event: Any) -> None:
    safely(_serve, event)


def _serve(event: Any) -> None:
    """Put a span around the method that is about to be called."""
    if is_left_out(event.method_name):
        return
    method = event.method_func
    address: Any = event.peer.addr()
    # of a socket of Unix it is a path, or nothing
    peer = "" if address is None or isinstance(address, str) else peer_of("", *address[:2])
    span = serve_grpc_call(event.method_name, event.metadata, peer)
    event.method_func = _around_method(method, span)


def _around_method(method: Callable[[Any], Awaitable[None]], span: Span) -> Callable[[Any], Awaitable[None]]:
    async def served(stream: Any) -> None:
        with span:
            try:
                await method(stream)
            except BaseException as error:
                settle(_raised, span, error)
                raise
            settle(note_code, span, None)

    return served


def _raised(span: Span, error: BaseException) -> None:
    """End the span of a method that raised; to say a status is done by raising, too."""
    status = getattr(error, "status", None)
    if status is not None:
        note_code(span, status)
    else:
        span.note_outcome(error)
        if span.failed:
            note_code(span, _UNKNOWN)
    span.stop()


INSTRUMENTATION = Instrumentation(
    name="grpclib",
    module="grpclib.client",
    hook=_hook,
    versions=">=0.4.9,<0.5",
    also=("grpclib.server",),
    shows_calls=True,
)
