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


def around_call(begin: Begin, finish: Finish = lambda span, _: span.stop(), fail: Fail = end_call) -> Make:
    """For `Patches.wrap`: a method, whose call has a span."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            span = safely(begin, self, args, kwargs)
            if span is None:
                return call(self, *args, **kwargs)
            try:
                result = call(self, *args, **kwargs)
            except BaseException as error:
                settle(fail, span, error)
                raise
            settle(finish, span, result)
            return result

        return traced

    return make


def around_async_call(begin: Begin, finish: Finish = lambda span, _: span.stop(), fail: Fail = end_call) -> Make:
    """For `Patches.wrap`: a method that returns an awaitable. The span begins when it is awaited."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
            span = safely(begin, self, args, kwargs)
            if span is None:
                return await call(self, *args, **kwargs)
            try:
                result = await call(self, *args, **kwargs)
            except BaseException as error:
                settle(fail, span, error)
                raise
            settle(finish, span, result)
            return result

        return traced

    return make
