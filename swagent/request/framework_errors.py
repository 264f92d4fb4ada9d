"""The exceptions for which a framework sends an answer of its own, so that no middleware sees them.

Django and Quart have a signal for them. In the others one method is wrapped, which answers them or looks for a handler
of the application's. This module imports none of them: a framework that serves requests is imported already. Starlette
and all that is built on it raise the exception again after the answer.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from ..agent_log import RateLimitedLog
from .answered import note_answered, note_handled
from .following import at_end, follow_imported, replace_method

_limited = RateLimitedLog()
_UID = "swagent"


def follow_errors() -> None:
    """From now on, note the exceptions that the imported frameworks answer. May be called again. Never raises."""
    follow_imported(_FOLLOWED, "exceptions")


def _follow_django(handlers: Any) -> None:
    signal = handlers.signals.got_request_exception
    signal.connect(_note_error_of_django, weak=False, dispatch_uid=_UID)
    at_end(_note_error_of_django, lambda: signal.disconnect(dispatch_uid=_UID))


def _note_error_of_django(**_: object) -> None:
    # Django sends the signal while it handles the exception
    error = sys.exc_info()[1]
    if error is not None:
        _try(note_answered, error, 500)


def _follow_quart(quart: Any) -> None:
    quart.got_request_exception.connect(_note_error_of_quart)
    at_end(_note_error_of_quart, lambda: quart.got_request_exception.disconnect(_note_error_of_quart))


async def _note_error_of_quart(_: object, exception: Any = None, **__: object) -> None:
    # a coroutine, because Quart runs plain functions in a thread
    if isinstance(exception, Exception):
        _try(note_answered, exception, 500)


def _follow_flask(flask: Any) -> None:
    _follow_method(flask.Flask, "_find_error_handler", _note_error_of_flask)


def _note_error_of_flask(args: Any, handler: object) -> None:
    error, is_answer = args[1], isinstance(args[1], sys.modules["werkzeug.exceptions"].HTTPException)
    # for an exception without a handler, Flask looks for the handler of the error 500 that it makes of it
    error = getattr(error, "original_exception", None) if is_answer else error
    if isinstance(error, Exception) and handler is not None:
        note_handled(error)
    elif isinstance(error, Exception) and is_answer:
        note_answered(error, 500)


def _follow_falcon(falcon: Any) -> None:
    _follow_method(falcon.App, "_handle_exception", _note_error_of_falcon)


def _note_error_of_falcon(args: Any, _: object) -> None:
    _, _, response, error, *_ = args
    answers = sys.modules["falcon"].HTTPError, sys.modules["falcon"].HTTPStatus
    # a websocket has no response
    if response is not None and not isinstance(error, answers):
        note_answered(error, response.status_code)


def _follow_bottle(bottle: Any) -> None:
    _follow_method(bottle.Bottle, "_cast", _note_error_of_bottle)


def _note_error_of_bottle(args: Any, _: object) -> None:
    error = getattr(args[1], "exception", None)
    if isinstance(error, Exception):
        note_handled(error)


def _follow_pyramid(pyramid: Any) -> None:
    _follow_method(pyramid.ViewMethodsMixin, "invoke_exception_view", _note_error_of_pyramid)


def _note_error_of_pyramid(args: Any, response: Any) -> None:
    given = args[1] if len(args) > 1 else None
    error = sys.exc_info()[1] if given is None else given[1]
    if error is not None and not isinstance(error, sys.modules["pyramid.httpexceptions"].HTTPException):
        note_answered(error, response.status_int)


def _follow_method(owner: Any, name: str, note: Callable[[Any, Any], None]) -> None:
    """Wrap a method of a framework, so that what it is called with and what it returns are noted."""
    noting = _noting_awaited if iscoroutinefunction(getattr(owner, name)) else _noting
    replace_method(owner, name, functools.partial(noting, note=note))


def _noting(method: Callable[..., Any], note: Callable[[Any, Any], None]) -> Callable[..., Any]:
    @functools.wraps(method)
    def answer(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        _try(note, (*args, *kwargs.values()), result)
        return result

    return answer


def _noting_awaited(method: Callable[..., Any], note: Callable[[Any, Any], None]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def answer(*args: Any, **kwargs: Any) -> Any:
        result = await method(*args, **kwargs)
        _try(note, (*args, *kwargs.values()), result)
        return result

    return answer


def _try(note: Callable[..., None], *args: Any) -> None:
    try:
        note(*args)
    except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
        _limited.warn(note.__name__, "the exception of a request cannot be read: %r", error)


_FOLLOWED: dict[str, Callable[[Any], None]] = {
    "django.core.handlers.exception": _follow_django,
    "quart.signals": _follow_quart,
    "flask": _follow_flask,
    "falcon.app": _follow_falcon,
    "falcon.asgi.app": _follow_falcon,
    "bottle": _follow_bottle,
    "pyramid.view": _follow_pyramid,
}
