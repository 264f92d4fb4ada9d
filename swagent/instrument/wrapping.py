"""The span around a function of a library. `looking.py` and `rewriting.py` are for those that need none.

Each library has its own `begin`, `finish` and so on; this module keeps their errors, and the span's, away from the
application. A call is passed on unchanged. A coroutine function is replaced by a coroutine function, and a plain
function by a plain one, even if it returns an awaitable: an application may ask, and it may rely on what a plain one
does before anything is awaited.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from ..acceleration import native
from ..record.trace.span import Span
from .arguments import Args, Kwargs
from .call import end_call, note_failure, safely, settle
from .patches import Make

Begin = Callable[[Any, Args, Kwargs], "Span | None"]
"""Gets the object whose method is called, and the arguments. None: this call has no span."""
Rewrite = Callable[["Span | None", Any, Args, Kwargs], tuple[Args, Kwargs]]
"""Gets the span, if there is one, the object and the arguments, and gives those to call with."""
Finish = Callable[..., object]
"""Gets the span, what the method has returned, the object and the arguments. It ends the span, then or later."""
Fail = Callable[[Span, BaseException], object]
"""Gets what the method has raised, and ends the span."""


if native is not None:
    native.configure_awaited(note_failure=note_failure)


def end_well(span: Span, *_: object) -> None:
    """A `Finish` of a call whose result says nothing. The wrappers of this module know it, and stop the span without
    this call."""
    span.stop()


def around_call(
    begin: Begin,
    finish: Finish = end_well,
    fail: Fail = end_call,
    rewrite: Rewrite | None = None,
    *,
    is_awaited: bool = False,
) -> Make:
    """For `Patches.wrap`: a method whose call has a span. That of a coroutine function begins when it is awaited.

    :param rewrite: gives the arguments to call with once the span has begun, such as headers with its context
    :param is_awaited: whether a plain function may return an awaitable, which the span is around then; it cannot be
        called with other arguments
    """

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(call):
            if native is not None and rewrite is None:
                return _around_coroutine_by_c(call, begin, finish, fail)
            return _around_coroutine(call, begin, finish, fail, rewrite)
        if is_awaited:
            return _around_awaitable(call, begin, finish, fail)
        return _around_plain(call, begin, finish, fail, rewrite)

    return make


def _around_plain(
    call: Callable[..., Any], begin: Begin, finish: Finish, fail: Fail, rewrite: Rewrite | None
) -> Callable[..., Any]:
    ends_well = finish is end_well

    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        # as `safely` and `settle`, without their calls: these lines are in each query
        try:
            span = begin(self, args, kwargs)
        except BaseException as error:  # noqa: BLE001, RUF100  (the library's objects may have a will of their own)
            note_failure(begin, error)
            span = None
        if rewrite is not None:
            args, kwargs = safely(rewrite, span, self, args, kwargs) or (args, kwargs)
        if span is None:
            return call(self, *args, **kwargs)
        try:
            result = call(self, *args, **kwargs)
        except BaseException as error:
            settle(fail, span, error)
            raise
        try:
            if ends_well:
                span.stop()
            else:
                finish(span, result, self, args, kwargs)
        except BaseException as error:  # noqa: BLE001, RUF100  (as above)
            note_failure(finish, error, span)
        return result

    return traced


def _around_coroutine(
    call: Callable[..., Any], begin: Begin, finish: Finish, fail: Fail, rewrite: Rewrite | None
) -> Callable[..., Any]:
    ends_well = finish is end_well

    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            span = begin(self, args, kwargs)
        except BaseException as error:  # noqa: BLE001, RUF100  (as above)
            note_failure(begin, error)
            span = None
        if rewrite is not None:
            args, kwargs = safely(rewrite, span, self, args, kwargs) or (args, kwargs)
        if span is None:
            return await call(self, *args, **kwargs)
        try:
            result = await call(self, *args, **kwargs)
        except BaseException as error:
            settle(fail, span, error)
            raise
        try:
            if ends_well:
                span.stop()
            else:
                finish(span, result, self, args, kwargs)
        except BaseException as error:  # noqa: BLE001, RUF100  (as above)
            note_failure(finish, error, span)
        return result

    return traced


def _around_coroutine_by_c(call: Callable[..., Any], begin: Begin, finish: Finish, fail: Fail) -> Callable[..., Any]:
    ends_well = finish is end_well
    begin_and_call = native.AwaitedCall(call, begin)  # type: ignore[union-attr]

    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        # as above, with all that comes before the first `await` in one call
        span, made = begin_and_call(self, args, kwargs)
        if span is None:
            return await made
        try:
            result = await made
        except BaseException as error:
            settle(fail, span, error)
            raise
        try:
            if ends_well:
                span.stop()
            else:
                finish(span, result, self, args, kwargs)
        except BaseException as error:  # noqa: BLE001, RUF100  (as above)
            note_failure(finish, error, span)
        return result

    return traced


def _around_awaitable(call: Callable[..., Any], begin: Begin, finish: Finish, fail: Fail) -> Callable[..., Any]:
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = call(self, *args, **kwargs)
        if not inspect.isawaitable(made):
            return made
        coroutine: Any = awaited(Within(made), self, args, kwargs)
        if type(made) is CoroutineType:
            coroutine.__name__, coroutine.__qualname__ = made.__name__, made.__qualname__
        return coroutine

    async def awaited(made: Within, self: Any, args: Args, kwargs: Kwargs) -> Any:
        span = safely(begin, self, args, kwargs)
        if span is None:
            return await made.awaitable
        try:
            result = await made.awaitable
        except BaseException as error:
            settle(fail, span, error)
            raise
        settle(finish, span, result, self, args, kwargs)
        return result

    return traced


class Within:
    """An awaitable within another coroutine. If that one never runs, as that of a task which is cancelled at once, a
    coroutine within it is closed: Python would warn of it, and does not without the agent."""

    __slots__ = ("_is_coroutine", "awaitable")

    def __init__(self, awaitable: Any) -> None:
        self.awaitable = awaitable
        self._is_coroutine = type(awaitable) is CoroutineType

    def __del__(self) -> None:
        if self._is_coroutine:
            self.awaitable.close()


def around_function(begin: Begin, finish: Finish = end_well, fail: Fail = end_call) -> Make:
    """As `around_call`, for a plain function: `begin` and `finish` get None in the place of an object."""

    def make(call: Callable[..., Any]) -> Callable[..., Any]:
        # without names of its own: the function may pass on arguments of any name
        def traced(*args: Any, **kwargs: Any) -> Any:
            span = safely(begin, None, args, kwargs)
            if span is None:
                return call(*args, **kwargs)
            try:
                result = call(*args, **kwargs)
            except BaseException as error:
                settle(fail, span, error)
                raise
            settle(finish, span, result, None, args, kwargs)
            return result

        return traced

    return make


class Lasting:
    """Around what lasts while the application works on: a stream, a scan. Its span is open, and not the active one; it
    ends with what it is around. A generator that is closed early ends well: the application wants no more of it."""

    __slots__ = ("_end", "_span")

    def __init__(self, span: Span | None, end: Callable[[Span, BaseException | None], object] = end_call) -> None:
        """:param span: None: nothing is recorded here"""
        self._span = span
        self._end = end

    def __enter__(self) -> None:
        if self._span is not None:
            settle(Span.step_aside, self._span)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if self._span is not None:
            settle(self._end, self._span, error)
