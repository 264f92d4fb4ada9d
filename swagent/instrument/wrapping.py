"""What is put around a function of a library: a span, or a look at a call before it, behind it or at its end.

What `begin`, `finish` and the others do is their library's own; that none of them, nor the span, ever gets between the
application and its library is done here. A call is passed on as it was made. What takes the place of a coroutine
function is one, too, and what takes that of a plain function is plain, even if it returns an awaitable: an application
may ask, and it may rely on what a plain one does before anything is awaited.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from ..record.trace.span import Span
from .call import end_call, safely, settle

Begin = Callable[[Any, tuple[Any, ...], dict[str, Any]], "Span | None"]
"""Gets the object whose method is called, and the arguments. None: this call has no span."""
Finish = Callable[[Span, Any], object]
"""Gets what the method has returned, and ends the span, then or later."""
Fail = Callable[[Span, BaseException], object]
"""Gets what the method has raised, and ends the span."""
Look = Callable[[Any, tuple[Any, ...], dict[str, Any]], object]
"""Gets the object whose method is called, and the arguments."""
LookBack = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], object]
"""Gets the object whose method was called, what that has returned, and the arguments."""
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

        async def awaited(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Awaitable[Any]) -> Any:
            return await await_in(safely(begin, self, args, kwargs), finish, fail, lambda: made)

        def traced_plain(self: Any, *args: Any, **kwargs: Any) -> Any:
            made = call(self, *args, **kwargs)
            return awaited(self, args, kwargs, made) if inspect.isawaitable(made) else made

        return traced if inspect.iscoroutinefunction(call) else traced_plain

    return make


def before_call(look: Look) -> Make:
    """For `Patches.wrap`: a method whose calls are looked at first."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
            safely(look, self, args, kwargs)
            return call(self, *args, **kwargs)

        async def looked_at_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            safely(look, self, args, kwargs)
            return await call(self, *args, **kwargs)

        return looked_at_async if inspect.iscoroutinefunction(call) else looked_at

    return make


def after_call(look: LookBack) -> Make:
    """For `Patches.wrap`: a method of whose calls the results are looked at."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = call(self, *args, **kwargs)
            safely(look, self, result, args, kwargs)
            return result

        async def looked_at_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = await call(self, *args, **kwargs)
            safely(look, self, result, args, kwargs)
            return result

        return looked_at_async if inspect.iscoroutinefunction(call) else looked_at

    return make


def at_end_of_call(end: Callable[[Any], object]) -> Make:
    """For `Patches.wrap`: a method at whose end, whatever that is, its object is looked at."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def looked_at(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return call(self, *args, **kwargs)
            finally:
                safely(end, self)

        async def looked_at_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return await call(self, *args, **kwargs)
            finally:
                safely(end, self)

        return looked_at_async if inspect.iscoroutinefunction(call) else looked_at

    return make
