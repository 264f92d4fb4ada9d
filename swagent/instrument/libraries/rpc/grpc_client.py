"""grpc: the client's interceptors, of blocking channels and of those on asyncio.

They are next to the wire, below those of the application: what one of these tries again is one call each time. A
call ends when its status is known, which for one that streams is when the stream ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import outer_call, settle
from ...patches import Make
from ...wrapping import around_call
from .grpc_call import begin_grpc_call, note_code, with_context

Continuation = Callable[[Any, Any], Any]
_KINDS = {"UnaryUnary": "unary_unary", "UnaryStream": "unary_stream", "StreamUnary": "stream_unary",
          "StreamStream": "stream_stream"}  # fmt: skip


def interceptor(grpc: Any, peer: str) -> Any:
    """For a blocking channel; of all four kinds of calls."""

    def call(_: object, continuation: Continuation, details: Any, request: Any) -> Any:
        return continuation(details, request)

    intercept = _recording(peer, list)(call)
    bases = tuple(getattr(grpc, f"{kind}ClientInterceptor") for kind in _KINDS)
    return type("Interceptor", bases, {f"intercept_{name}": intercept for name in _KINDS.values()})()


def asyncio_interceptors(aio: Any, peer: str) -> list[Any]:
    """For a channel on asyncio, which wants one of each kind."""

    async def call(_: object, continuation: Continuation, details: Any, request: Any) -> Any:
        return await continuation(details, request)

    intercept = _recording(peer, lambda pairs: aio.Metadata(*pairs))(call)
    return [
        type("Interceptor", (getattr(aio, f"{kind}ClientInterceptor"),), {f"intercept_{name}": intercept})()
        for kind, name in _KINDS.items()
    ]


def _recording(peer: str, make: Callable[[list[tuple[str, Any]]], Any]) -> Make:
    """:param make: makes a call's metadata of pairs"""

    def begin(_: object, args: Args, __: Kwargs) -> Span | None:
        method: str | bytes = args[1].method
        return begin_grpc_call(method.decode() if isinstance(method, bytes) else method, peer)

    def carry(span: Span | None, _: object, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        span = span or outer_call()
        if span is None:
            return args, kwargs
        continuation, details, request = args
        return (continuation, details._replace(metadata=make(with_context(details.metadata, span))), request), kwargs

    return around_call(begin, _await_end, rewrite=carry)


def _await_end(span: Span, call: Any, *_: object) -> None:
    span.step_aside()
    add = getattr(call, "add_done_callback", None)
    if add is None:
        span.stop()  # what a call returns that is no call: its end is not known
    else:
        add(functools.partial(_ended, span))


def _ended(span: Span, call: Any) -> None:
    settle(_end, span, call)


def _end(span: Span, call: Any) -> None:
    code = call.code()
    if hasattr(code, "send"):
        code = _result_of(code)
    note_code(span, code)
    span.stop()


def _result_of(coroutine: Any) -> object:
    """What a coroutine returns that need not wait: the status of a call that is over."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    finally:
        coroutine.close()
    return None
