"""The functions with which an application opens spans and reads the active trace."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, ParamSpec, TypeVar, overload

from ..limits import address_of, as_text, name_of
from .carrier import Carrier, can_travel, parse_correlation, parse_sw8
from .context import active_span, current
from .model import Component, Layer, SpanKind
from .span import Span, active_entry
from .traceparent import Traceparent, parse_traceparent
from .tracer import running

P = ParamSpec("P")
R = TypeVar("R")


def local_span(name: str, *, component: int = Component.UNKNOWN, layer: int = Layer.UNKNOWN) -> Span:
    """A span for work inside this process; a context manager.

    `with local_span("price") as span: span.tag("items", 3)`
    """
    return Span(name_of(name), SpanKind.LOCAL, component=component, layer=layer)


def exit_span(name: str, peer: str, *, component: int = Component.UNKNOWN, layer: int = Layer.UNKNOWN) -> Span:
    """A span for a call to another service; a context manager. Send `span.headers()` along with the call.

    :param peer: the address that is called, `host:port`
    """
    return Span(name_of(name), SpanKind.EXIT, address_of(peer), component=component, layer=layer)


def entry_span(
    name: str,
    *,
    sw8: bytes | str | None = None,
    correlation: bytes | str | None = None,
    traceparent: bytes | str | None = None,
    tracestate: bytes | str | None = None,
    component: int = Component.UNKNOWN,
    layer: int = Layer.UNKNOWN,
) -> Span:
    """A span for a request or a message that came in; a context manager. It opens a segment of its own.

    :param sw8: the caller's `sw8` header, where there is one; a malformed one counts as none
    :param correlation: the caller's `sw8-correlation` header
    :param traceparent: the caller's header of that name, by which the trace is continued where there is no `sw8`
    :param tracestate: the header that belongs to it
    """
    tracer = running()
    carrier: Carrier | Traceparent | None = parse_sw8(sw8) if sw8 is not None else None
    if carrier is None and traceparent is not None and (tracer is None or tracer.traceparent):
        carrier = parse_traceparent(traceparent, tracestate)
    # compared with None only: it may be any object, and so may its truth value
    elements = None
    if correlation is not None and tracer is not None:
        elements = parse_correlation(correlation, *tracer.correlation_limits)
    return Span(name_of(name), SpanKind.ENTRY, carrier=carrier, correlation=elements,
                component=component, layer=layer, tracer=tracer)  # fmt: skip


def current_span() -> Span | None:
    """The active span of this task or thread."""
    entry = active_span(current.get())
    return entry.to_span() if entry is not None else None


def current_trace_id() -> str:
    """The active trace's id, or the id of the trace that the next local span continues: under a snapshot in another
    thread, and behind a request. Empty when there is none or when it is not recorded."""
    entry = active_entry()
    return entry.trace_id if entry is not None else ""


def put_correlation(key: str, value: str) -> bool:
    """Add an element that travels with the active trace to every service behind this one; an empty value removes it.

    :returns: False when no trace is active, or when the number or length of elements would pass what the services
        behind this one take
    """
    span = current_span()
    segment = span.segment if span is not None else None
    if segment is None:
        return False
    key, value = as_text(key), as_text(value)
    with segment.tracer.lock:
        elements = {name: element for name, element in segment.correlation.items() if name != key}
        if value:
            elements[key] = value
            if not can_travel(elements, *segment.tracer.correlation_limits):
                return False
        segment.correlation = elements
    return True


def get_correlation(key: str) -> str | None:
    """An element that travels with the active trace, or None."""
    span = current_span()
    return span.segment.correlation.get(as_text(key)) if span is not None and span.segment is not None else None


@overload
def trace(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def trace(name: str | None = None, /) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def trace(function: Any = None, /) -> Any:
    """Run every call of a function in a local span: `@trace`, `@trace()` or `@trace("name")`.

    For functions, coroutine functions, generators and async generators. A generator's span lasts from its first step to
    its end, and is active only while the generator itself runs.
    """
    if callable(function):
        return _traced(function, None)
    return functools.partial(_traced, given=function)


def _traced(function: Callable[..., object], given: str | None) -> Callable[..., object]:
    # a partial or a callable object has no name of its own
    own: str = getattr(function, "__qualname__", type(function).__qualname__)
    name = given or own
    wrapper: Callable[..., object]
    if inspect.iscoroutinefunction(function):
        wrapper = _traced_coroutine(function, name)
    elif inspect.isasyncgenfunction(function):
        wrapper = _traced_async_generator(function, name)
    elif inspect.isgeneratorfunction(function):
        wrapper = _traced_generator(function, name)
    else:
        wrapper = _traced_call(function, name)
    return functools.wraps(function)(wrapper)


def _traced_call(function: Callable[..., R], name: str) -> Callable[..., R]:
    def call(*args: object, **kwargs: object) -> R:
        with local_span(name):
            return function(*args, **kwargs)

    return call


def _traced_coroutine(function: Callable[..., Awaitable[R]], name: str) -> Callable[..., Awaitable[R]]:
    async def call(*args: object, **kwargs: object) -> R:
        with local_span(name):
            return await function(*args, **kwargs)

    return call


def _traced_generator(
    function: Callable[..., Generator[Any, Any, R]], name: str
) -> Callable[..., Generator[Any, Any, R]]:
    def call(*args: object, **kwargs: object) -> Generator[Any, Any, R]:
        with local_span(name):
            return (yield from function(*args, **kwargs))

    return call


def _traced_async_generator(
    function: Callable[..., AsyncGenerator[Any, Any]], name: str
) -> Callable[..., AsyncGenerator[Any, Any]]:
    async def call(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        # `async for` would lose what the consumer sends and throws; PEP 525 has no `yield from`, so it is spelt out
        generator = function(*args, **kwargs)
        with local_span(name):
            try:
                item = await generator.__anext__()
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001, RUF100  (the consumer's, and it is thrown on)
                        item = await generator.athrow(error)
                    else:
                        item = await generator.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await generator.aclose()

    return call
