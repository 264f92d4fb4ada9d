"""A span around a function of a library, for hooks that need no more than that.

What `begin` and `finish` do is their library's own; that neither of them, nor the span, ever gets between the
application and its library is done here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.trace.span import Span
from .call import end_call, safely, settle

Begin = Callable[[Any, tuple[Any, ...], dict[str, Any]], "Span | None"]
"""Gets the object whose method is called, and the arguments. None: this call has no span."""
Finish = Callable[[Span, Any], object]
"""Gets what the method has returned, and ends the span, then or later."""
Fail = Callable[[Span, BaseException], object]
"""Gets what the method has raised, and ends the span."""
Make = Callable[[Callable[..., Any]], Callable[..., Any]]


def end_well(span: Span, _: object) -> None:
    """A `Finish` of a call whose result says nothing."""
    span.stop()


def call_in(
    span: Span | None, finish: Finish, fail: Fail, call: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call a function of a library in a span that has begun. Without one it is just called."""
    if span is None:
        return call(*args, **kwargs)
    try:
        result = call(*args, **kwargs)
    except BaseException as error:
        settle(fail, span, error)
        raise
    settle(finish, span, result)
    return result


async def await_in(
    span: Span | None, finish: Finish, fail: Fail, call: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """As `call_in`, for a function that returns an awaitable."""
    if span is None:
        return await call(*args, **kwargs)
    try:
        result = await call(*args, **kwargs)
    except BaseException as error:
        settle(fail, span, error)
        raise
    settle(finish, span, result)
    return result


def around_call(begin: Begin, finish: Finish = end_well, fail: Fail = end_call) -> Make:
    """For `Patches.wrap`: a method, whose call has a span."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            return call_in(safely(begin, self, args, kwargs), finish, fail, call, self, *args, **kwargs)

        return traced

    return make


def around_async_call(begin: Begin, finish: Finish = end_well, fail: Fail = end_call) -> Make:
    """For `Patches.wrap`: a method that returns an awaitable. The span begins when it is awaited."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await await_in(safely(begin, self, args, kwargs), finish, fail, call, self, *args, **kwargs)

        return traced

    return make
