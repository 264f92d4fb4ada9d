"""The span of a call that an instrumented library makes: begun safely, ended with what came of it.

A call inside a call is one call: where requests sends through urllib3, and SQLAlchemy asks asyncpg, the outer one has
the span. The inner one finds it with `outer_call`, and may add facts that only the inner one knows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from ..acceleration import native
from ..agent_log import RateLimitedLog
from ..record.foreign import must_reach_application
from ..record.suppression import suppress_instrumentation
from ..record.trace.context import active_span, current
from ..record.trace.model import SpanKind
from ..record.trace.span import Span
from ..record.trace.tracer import installed, running
from .outside import is_only_counted

P = ParamSpec("P")
R = TypeVar("R")

_EXIT = SpanKind.EXIT
_limited = RateLimitedLog()

is_setting_up: ContextVar[bool] = ContextVar("swagent_is_setting_up", default=False)
"""True where a library sets up something of its own: the calls that it makes for that are not the application's."""


def safely(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Call a function of an instrumentation inside the application's call. None: it failed, which is said and costs the
    span; only what ends the task or the program passes."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001, RUF100  (the library's objects may have a will of their own)
        note_failure(function, error)
        return None


def handled_error() -> int:
    """Which exception is being handled now, for `error_since`."""
    return id(sys.exc_info()[1])


def error_since(before: int) -> BaseException | None:
    """The exception that is being handled now; None where it was being handled before already, and so breaks nothing
    off.

    :param before: as `handled_error` returned it
    """
    error = sys.exc_info()[1]
    return error if id(error) != before else None


def settle(function: Callable[Concatenate[Span, P], object], span: Span, *args: P.args, **kwargs: P.kwargs) -> None:
    """Call what ends a span or leaves it open on purpose, inside the application's call. If that fails, which is said,
    the span ends here: as the active one of this context it would swallow every call after it."""
    try:
        function(span, *args, **kwargs)
    except BaseException as error:  # noqa: BLE001, RUF100  (as above)
        note_failure(function, error, span)


def note_failure(function: Callable[..., object], error: BaseException, span: Span | None = None) -> None:
    """Say that a function of an instrumentation has failed inside the application's call, and end its span.

    :raises BaseException: the error, where it ends the task or the program
    """
    if span is not None:
        span.stop()
    if must_reach_application(error):
        raise error
    _limited.warn(function.__module__, "%s could not record a call: %r", function.__module__, error)


def begin_call(
    name: str,
    peer: str,
    layer: int,
    component: int,
    tags: tuple[tuple[str, str], ...] = (),
    make: type[Span] = Span,
) -> Span | None:
    """Begin the exit span of a call, and make it the active one. None: nothing is recorded here, or the call is a part
    of another one that has a span already.

    :param name: one line, at most 150 characters
    :param peer: `host:port`
    :param tags: short texts
    :param make: the span's class
    """
    # as `is_outermost`, without the calls
    if (not installed and running() is None) or suppress_instrumentation.get() or is_setting_up.get():
        return None
    entry = current.get()
    if entry is None or entry.ended or entry.frame is not None:
        if outer_call() is not None or is_only_counted(name, peer, layer, entry):
            return None
    elif entry.kind is _EXIT:
        return None
    return make(name, _EXIT, peer, layer, component, None, None, None, tags).start()


if native is not None:
    native.configure_calls(
        suppressed=suppress_instrumentation, is_setting_up=is_setting_up, installed=installed, otherwise=begin_call
    )
    if not TYPE_CHECKING:
        begin_call = native.begin_call


def is_outermost() -> bool:
    """Whether a call that begins now has a span of its own."""
    if running() is None or suppress_instrumentation.get() or is_setting_up.get():
        return False
    return outer_call() is None


def outer_call() -> Span | None:
    """The call that is under way in this context; None: there is none."""
    entry = active_span(current.get())
    if entry is None or entry.kind is not _EXIT or suppress_instrumentation.get():
        return None
    # asked for now: the span of a request in which no call is under way is not made by that
    return entry.to_span()


def end_call(span: Span, error: BaseException | None = None) -> None:
    """End a call's span.

    :param error: what the call raised: a failure, a cancellation or a timeout
    """
    if error is not None:
        span.note_outcome(error)
        if isinstance(error, Exception):
            # a timeout too: here the library has given up, and not the code around the call
            span.error()
    span.stop()
