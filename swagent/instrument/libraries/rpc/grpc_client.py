"""grpc: the client's interceptors, of blocking channels and of those on asyncio.

They are next to the wire, below those of the application: what one of these tries again is one call each time. A
call ends when its status is known, which for one that streams is when the stream ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import outer_call, safely, settle
from ...listeners import Listener, Listeners
from ...patches import Make
from ...showing import showing_request
from ...wrapping import around_call
from .grpc_call import begin_grpc_call, name_of_code, note_code, with_context

Continuation = Callable[[Any, Any], Any]
_KINDS = {"UnaryUnary": "unary_unary", "UnaryStream": "unary_stream", "StreamUnary": "stream_unary",
          "StreamStream": "stream_stream"}  # fmt: skip
_WRITES = "_proxy_writes_as_request_iterator"
"""The generator of grpc that has an application's writes. An iterator of the application is its own to end."""


class SentCall(NamedTuple):
    """A call, as `on_request` sees it."""

    details: Any
    """The library's: method, timeout, metadata."""
    message: Any
    """Where the client streams, the iterator of its messages."""


class EndedCall(NamedTuple):
    """A call that has ended well, as `on_response` sees it."""

    message: Any
    """None: the server streams, or the call is one on asyncio, whose message is not there yet when its status is."""
    trailing_metadata: Any


def interceptor(grpc: Any, peer: str, listeners: Listeners) -> Any:
    """For a blocking channel; of all four kinds of calls."""

    def call(_: object, continuation: Continuation, details: Any, request: Any) -> Any:
        return continuation(details, request)

    ends = {name: partial(_ended, listeners.on_response, name.endswith("_unary")) for name in _KINDS.values()}
    members = {f"intercept_{name}": _recording(peer, list, listeners, ends[name])(call) for name in ends}
    bases = tuple(getattr(grpc, f"{kind}ClientInterceptor") for kind in _KINDS)
    return type("Interceptor", bases, members)()


def asyncio_interceptors(aio: Any, peer: str, listeners: Listeners) -> list[Any]:
    """For a channel on asyncio, which wants one of each kind."""

    async def call(_: object, continuation: Continuation, details: Any, request: Any) -> Any:
        return await continuation(details, request)

    async def stream(_: object, continuation: Continuation, details: Any, requests: Any) -> Any:
        made = await continuation(details, requests)
        safely(_end_with_call, made, requests)
        return made

    ended = partial(_ended, listeners.on_response, False)
    recording = _recording(peer, lambda pairs: aio.Metadata(*pairs), listeners, ended)
    calls = {name: recording(stream if name.startswith("stream_") else call) for name in _KINDS.values()}
    return [
        type("Interceptor", (getattr(aio, f"{kind}ClientInterceptor"),), {f"intercept_{name}": calls[name]})()
        for kind, name in _KINDS.items()
    ]


def _end_with_call(call: Any, requests: Any) -> None:
    """End the task that reads the application's writes when the call ends.

    Without an interceptor each write goes straight to the call. With one, the writes go through a queue of grpc's, and
    its reader waits for the next one for ever where the call fails: a task would be left of each such call.
    """
    reader = getattr(call, "_async_request_poller", None)
    if reader is not None and getattr(requests, "__name__", "") == _WRITES:
        call.add_done_callback(partial(_cancel, reader))


def _cancel(task: Any, _: object) -> None:
    task.cancel()


def _recording(
    peer: str,
    make: Callable[[list[tuple[str, Any]]], Any],
    listeners: Listeners,
    ended: Callable[[Span, Any], None],
) -> Make:
    """:param make: makes a call's metadata of pairs
    :param ended: called when the status of the call is known
    """

    def begin(_: object, args: Args, __: Kwargs) -> Span | None:
        method: str | bytes = args[1].method
        return begin_grpc_call(method.decode() if isinstance(method, bytes) else method, peer)

    def carry(span: Span | None, _: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        span = span or outer_call()
        if span is None:
            return args, kwargs
        continuation, details, request = args
        return (continuation, details._replace(metadata=make(with_context(details.metadata, span))), request), kwargs

    begin_and_show = showing_request(listeners.on_request, begin, _sent)
    return around_call(begin_and_show, partial(_await_end, ended), rewrite=carry)


def _sent(_: object, args: Args, __: Kwargs) -> SentCall:
    return SentCall(*args[1:3])


def _await_end(ended: Callable[[Span, Any], None], span: Span, call: Any, *_: object) -> None:
    span.step_aside()
    add = getattr(call, "add_done_callback", None)
    if add is None:
        span.stop()  # what a call returns that is no call: its end is not known
    else:
        add(partial(ended, span))


def _ended(listener: Listener | None, has_message: bool, span: Span, call: Any) -> None:
    settle(_end, span, call, listener, has_message)


def _end(span: Span, call: Any, listener: Listener | None, has_message: bool) -> None:
    code = _value_of(call.code())
    note_code(span, code)
    if listener is not None and name_of_code(code) == "OK":
        listener.show(span, _ended_call, call, has_message)
    span.stop()


def _ended_call(call: Any, has_message: bool) -> EndedCall:
    return EndedCall(call.result() if has_message else None, _value_of(call.trailing_metadata()))


def _value_of(found: Any) -> Any:
    """A value of a call that is over. On asyncio a coroutine gives it, which need not wait any more."""
    return _result_of(found) if hasattr(found, "send") else found


def _result_of(coroutine: Any) -> object:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    finally:
        coroutine.close()
    return None
