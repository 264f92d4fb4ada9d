"""grpc: the client's interceptors, of blocking channels and of those on asyncio.

They stand next to the wire, below those of the application: what one of these tries again is one call each time. A
call ends when its status is known, which for one that streams is when the stream ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....record.trace.span import Span
from ...call import end_call, outer_call, safely, settle
from ...wrapping import await_in, call_in
from .grpc_call import begin_grpc_call, note_code, with_context

Continuation = Callable[[Any, Any], Any]


def interceptor(grpc: Any, peer: str) -> Any:
    """For a blocking channel; of all four kinds of calls."""

    def intercept(_: object, continuation: Continuation, details: Any, request: Any) -> Any:
        span = safely(_begin, details.method, peer)
        details = safely(_carry, span, details, list) or details
        return call_in(span, _await_end, end_call, continuation, details, request)

    kinds = ("UnaryUnary", "UnaryStream", "StreamUnary", "StreamStream")
    bases = tuple(getattr(grpc, f"{kind}ClientInterceptor") for kind in kinds)
    names = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
    return type("Interceptor", bases, {f"intercept_{name}": intercept for name in names})()


def asyncio_interceptors(aio: Any, peer: str) -> list[Any]:
    """For a channel on asyncio, which wants one of each kind."""

    async def intercept(_: object, continuation: Continuation, details: Any, request: Any) -> Any:
        span = safely(_begin, details.method, peer)
        details = safely(_carry, span, details, lambda pairs: aio.Metadata(*pairs)) or details
        return await await_in(span, _await_end, end_call, continuation, details, request)

    kinds = {"UnaryUnary": "unary_unary", "UnaryStream": "unary_stream", "StreamUnary": "stream_unary",
             "StreamStream": "stream_stream"}  # fmt: skip
    return [
        type("Interceptor", (getattr(aio, f"{kind}ClientInterceptor"),), {f"intercept_{name}": intercept})()
        for kind, name in kinds.items()
    ]


def _begin(method: str | bytes, peer: str) -> Span | None:
    return begin_grpc_call(method.decode() if isinstance(method, bytes) else method, peer)


def _carry(span: Span | None, details: Any, make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """A call's details with the context in them; None where there is none to tell."""
    span = span or outer_call()
    return None if span is None else details._replace(metadata=make(with_context(details.metadata, span)))


def _await_end(span: Span, call: Any) -> None:
    span.step_aside()
    add = getattr(call, "add_done_callback", None)
    if add is None:
        span.stop()  # what a call returns that is no call: nobody can tell when it is over
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
