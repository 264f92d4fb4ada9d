"""grpc: the server's interceptor, blocking and on asyncio, which puts an entry span around each method that is called.

It is the first one, so that what the application's own do belongs to the call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

from ..record.trace.span import Span
from .call import safely, settle
from .grpc_call import is_left_out, note_code, peer_of, serve_grpc_call

_UNKNOWN = 2
Behavior = Callable[[Any, Any], Any]


def interceptor(grpc: Any) -> Any:
    """For a blocking server."""

    def intercept_service(_: object, continuation: Callable[[Any], Any], details: Any) -> Any:
        return _record(continuation(details), details)

    return type("Interceptor", (grpc.ServerInterceptor,), {"intercept_service": intercept_service})()


def asyncio_interceptor(aio: Any) -> Any:
    """For a server on asyncio."""

    async def intercept_service(_: object, continuation: Callable[[Any], Any], details: Any) -> Any:
        return _record(await continuation(details), details)

    return type("Interceptor", (aio.ServerInterceptor,), {"intercept_service": intercept_service})()


def _record(handler: Any, details: Any) -> Any:
    """A handler that records, made of one that does not."""
    return safely(_recording, handler, details) or handler


def _recording(handler: Any, details: Any) -> Any:
    method: Any = details.method
    method = method.decode() if isinstance(method, bytes) else method
    # who has no such method answers so himself
    if handler is None or is_left_out(method):
        return handler
    kind = f"{_streams(handler.request_streaming)}_{_streams(handler.response_streaming)}"
    behavior = getattr(handler, kind)
    # the last of several values that came under one name
    metadata: dict[str, Any] = dict(details.invocation_metadata or ())
    begin = functools.partial(_begin, method, metadata)
    return handler._replace(**{kind: _around(behavior, begin, handler.response_streaming)})


def _streams(is_stream: bool) -> str:
    return "stream" if is_stream else "unary"


def _around(behavior: Behavior, begin: Callable[[Any], Span | None], is_stream: bool) -> Behavior:
    # the server asks what kind of function it is
    if inspect.isasyncgenfunction(behavior):
        return _around_async_generator(behavior, begin)
    if inspect.iscoroutinefunction(behavior) or inspect.iscoroutinefunction(getattr(behavior, "__call__", None)):  # noqa: B004
        return _around_coroutine(behavior, begin)
    return _around_generator(behavior, begin) if is_stream else _around_function(behavior, begin)


def _around_function(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    def served(request: Any, context: Any) -> Any:
        span = safely(begin, context)
        if span is None:
            return behavior(request, context)
        with span:
            try:
                answer = behavior(request, context)
            except BaseException as error:
                settle(_raised, span, context, error)
                raise
            settle(_answered, span, context)
            return answer

    return served


def _around_coroutine(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    async def served(request: Any, context: Any) -> Any:
        span = safely(begin, context)
        if span is None:
            return await behavior(request, context)
        with span:
            try:
                answer = await behavior(request, context)
            except BaseException as error:
                settle(_raised, span, context, error)
                raise
            settle(_answered, span, context)
            return answer

    return served


def _around_generator(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    def served(request: Any, context: Any) -> Iterator[Any]:
        span = safely(begin, context)
        if span is None:
            yield from behavior(request, context)
            return
        with span:
            try:
                yield from behavior(request, context)
            except BaseException as error:
                settle(_raised, span, context, error)
                raise
            settle(_answered, span, context)

    return served


def _around_async_generator(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    async def served(request: Any, context: Any) -> AsyncIterator[Any]:
        span = safely(begin, context)
        # a generator that the server leaves is closed with this one
        async with aclosing(behavior(request, context)) as answers:
            if span is None:
                async for answer in answers:
                    yield answer
                return
            with span:
                try:
                    async for answer in answers:
                        yield answer
                except BaseException as error:
                    settle(_raised, span, context, error)
                    raise
                settle(_answered, span, context)

    return served


def _begin(method: str, metadata: dict[str, Any], context: Any) -> Span | None:
    return serve_grpc_call(method, metadata, peer_of(context.peer()))


def _answered(span: Span, context: Any) -> None:
    note_code(span, context.code())


def _raised(span: Span, context: Any, error: BaseException) -> None:
    """End the span of a method that raised. To abort is done by raising, too, and says a status."""
    is_abort = type(error).__name__ == "AbortError" or (type(error) is Exception and not error.args)
    if is_abort and context.code() is not None:
        note_code(span, context.code())
    else:
        span.note_outcome(error)
        if span.failed:
            note_code(span, _UNKNOWN)
    span.stop()
