"""Exceptions that never leave the application, because its framework has sent an answer for them."""

from __future__ import annotations

from ..record.trace.context import active_span, current
from .failure import note_error
from .pending import PendingRequest
from .span import RequestSpan
from .state import NOTHING

_ERROR = "swagent.error"


def note_answered(error: BaseException, status: int) -> None:
    """Note an exception in the request that is served here. It fails the request if the answer says that the server
    has failed: an application may answer a missing item by an exception.

    :param status: of the answer
    """
    request = _current_request()
    if request is not None and status >= 500:
        note_error(request, error)


def note_handled(error: BaseException) -> None:
    """As `note_answered`, where the answer is not known yet: the adapter for WSGI takes the exception when it is, by
    `take_handled`."""
    request = _current_request()
    # taken once: another thread may end the request
    scope = request.scope if request is not None else NOTHING
    if scope is not NOTHING and "asgi" not in scope:
        scope[_ERROR] = error


def take_handled(request: PendingRequest) -> BaseException | None:
    """The exception that is answered now. A scope must not keep it: its stack holds the scope."""
    error: BaseException | None = request.scope.pop(_ERROR, None)
    return error


def _current_request() -> PendingRequest | None:
    """The open request that is served in this context. None: there is none, or it is not recorded."""
    entry = active_span(current.get())
    if entry is None or isinstance(entry, PendingRequest):
        return entry
    span = entry.to_span()
    root = span.segment.root if span is not None and span.segment is not None else None
    pending = root.pending if isinstance(root, RequestSpan) else None
    return pending if isinstance(pending, PendingRequest) and not pending.ended else None
