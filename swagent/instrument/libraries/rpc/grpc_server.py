"""grpc: the server's interceptor, blocking and on asyncio, which puts an entry span around each method that is called.

It is the first one, so that what the application's own do belongs to the call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, nullcontext, suppress
from typing import Any

from ....record.trace.context import current
from ....record.trace.context_snapshot import ContextSnapshot
from ....record.trace.span import Span
from ...call import safely, settle
from .grpc_call import is_left_out, note_code, peer_of, serve_grpc_call

_UNKNOWN = 2
Behavior = Callable[[Any, Any], Any]


def interceptor(grpc: Any) -> Any:
    """For a blocking server."""

    def intercept_service(_: object, continuation: Callable[[Any], Any], details: Any) -> Any:
        return _record(continuation(details), details, "__next__")

    return type("Interceptor", (grpc.ServerInterceptor,), {"intercept_service": intercept_service})()


def asyncio_interceptor(aio: Any) -> Any:
    """For a server on asyncio."""

    async def intercept_service(_: object, continuation: Callable[[Any], Any], details: Any) -> Any:
        return _record(await continuation(details), details, "__iter__")

    return type("Interceptor", (aio.ServerInterceptor,), {"intercept_service": intercept_service})()


def _record(handler: Any, details: Any, asked_by: str) -> Any:
    """A handler that records, made of one that does not.

    :param asked_by: the method by which this kind of server asks for the answers of a stream
    """
    return safely(_recording, handler, details, asked_by) or handler


def _recording(handler: Any, details: Any, asked_by: str) -> Any:
    method: Any = details.method
    method = method.decode() if isinstance(method, bytes) else method
    # a server that has no such method answers so itself
    if handler is None or is_left_out(method):
        return handler
    kind = f"{_streams(handler.request_streaming)}_{_streams(handler.response_streaming)}"
    behavior = getattr(handler, kind)
    # it is called in another way, and is over before there is an answer
    if getattr(behavior, "experimental_non_blocking", False):
        return handler
    # the last of several values that came under one name
    metadata: dict[str, Any] = dict(details.invocation_metadata or ())
    begin = functools.partial(_begin, method, metadata)
    return handler._replace(**{kind: _around(behavior, begin, asked_by if handler.response_streaming else "")})


def _streams(is_stream: bool) -> str:
    return "stream" if is_stream else "unary"


def _around(behavior: Behavior, begin: Callable[[Any], Span | None], asked_by: str) -> Behavior:
    """The replacement of a method. The server looks at the kind of the function, and treats each in its own way."""
    if inspect.isasyncgenfunction(behavior):
        served = _around_async_generator(behavior, begin)
    elif inspect.iscoroutinefunction(behavior):
        served = _around_coroutine(behavior, begin)
    elif not asked_by:
        served = _around_function(behavior, begin)
    elif inspect.isgeneratorfunction(behavior):
        served = _around_generator(behavior, begin)
    else:
        served = _around_iterator(behavior, begin, asked_by)
    # the server has settings in attributes of functions
    return functools.wraps(behavior)(served)


class _StatusAtEnd:
    """Around a method while its span is open: the status that it ends with."""

    __slots__ = ("_context", "_span")

    def __init__(self, span: Span, context: Any) -> None:
        self._span = span
        self._context = context

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            settle(_answered, self._span, self._context)
        else:
            settle(_raised, self._span, self._context, error)


def _around_function(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    def served(request: Any, context: Any) -> Any:
        span = safely(begin, context)
        if span is None:
            return behavior(request, context)
        with span, _StatusAtEnd(span, context):
            return behavior(request, context)

    return served


def _around_coroutine(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    async def served(request: Any, context: Any) -> Any:
        span = safely(begin, context)
        if span is None:
            return await behavior(request, context)
        with span, _StatusAtEnd(span, context):
            return await behavior(request, context)

    return served


def _around_generator(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    def served(request: Any, context: Any) -> Iterator[Any]:
        span = safely(begin, context)
        if span is None:
            yield from behavior(request, context)
            return
        with span, _StatusAtEnd(span, context):
            yield from behavior(request, context)

    return served


def _around_iterator(behavior: Behavior, begin: Callable[[Any], Span | None], asked_by: str) -> Behavior:
    def served(request: Any, context: Any) -> Any:
        span = safely(begin, context)
        if span is None:
            return behavior(request, context)
        span.start()
        try:
            answers = behavior(request, context)
        except BaseException as error:
            settle(_raised, span, context, error)
            raise
        if _has(answers, asked_by):
            return safely(_followed, answers, span, context) or answers
        # the server says so next
        settle(_raised, span, context, TypeError(f"{type(answers).__name__} has no answers"))
        return answers

    return served


class _Answers:
    """The answers that a method returned, while the server asks for one after the other."""

    def __init__(self, answers: Any, span: Span, context: Any) -> None:
        self._answers = answers
        self._span: Span | None = span
        self._context = context

    def iterate(self) -> Iterator[Any]:
        """For its `__iter__`."""
        self._answers = iter(self._answers)
        return iter(self.ask, _NO_ANSWER)

    def ask(self) -> Any:
        """For its `__next__`."""
        span = self._span
        if span is None:
            return next(self._answers)
        try:
            # the server on asyncio asks in another thread
            with nullcontext() if current.get() is span else ContextSnapshot(span):
                return next(self._answers)
        except BaseException as error:
            self._end(error)
            raise

    def __del__(self) -> None:
        # the caller wants no more
        with suppress(Exception):
            self._end(GeneratorExit())

    def _end(self, error: BaseException) -> None:
        span, self._span = self._span, None
        if span is None:
            return
        if isinstance(error, StopIteration):
            settle(_answered, span, self._context)
            span.stop()
        else:
            settle(_raised, span, self._context, error)


_NO_ANSWER = object()
_ASKED = {"__iter__": _Answers.iterate, "__next__": _Answers.ask}


def _has(answers: object, name: str) -> bool:
    return hasattr(type(answers), name)


def _followed(answers: Any, span: Span, context: Any) -> Any:
    """The answers of a method, with the same ways to ask for them: each kind of server needs another way."""
    asked = {name: method for name, method in _ASKED.items() if _has(answers, name)}
    followed: Any = type(type(answers).__name__, (_Answers,), asked)
    return followed(answers, span, context)


def _around_async_generator(behavior: Behavior, begin: Callable[[Any], Span | None]) -> Behavior:
    async def served(request: Any, context: Any) -> AsyncIterator[Any]:
        span = safely(begin, context)
        # a generator that the server leaves is closed with this one
        async with aclosing(behavior(request, context)) as answers:
            if span is None:
                async for answer in answers:
                    yield answer
                return
            with span, _StatusAtEnd(span, context):
                async for answer in answers:
                    yield answer

    return served


def _begin(method: str, metadata: dict[str, Any], context: Any) -> Span | None:
    return serve_grpc_call(method, metadata, peer_of(context.peer()))


def _answered(span: Span, context: Any) -> None:
    # of a blocking method on asyncio there is none
    note_code(span, context.code() if hasattr(context, "code") else None)


def _raised(span: Span, context: Any, error: BaseException) -> None:
    """End the span of a method that raised. To abort is done by raising, too, and says a status."""
    is_abort = type(error).__name__ == "AbortError" or (type(error) is Exception and not error.args)
    if is_abort and hasattr(context, "code") and context.code() is not None:
        note_code(span, context.code())
    else:
        span.note_outcome(error)
        if span.failed:
            note_code(span, _UNKNOWN)
    span.stop()
