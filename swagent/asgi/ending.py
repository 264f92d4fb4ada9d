"""The end of a request: the application has returned, or raised.

An error in this module is counted and goes no further.
"""

from __future__ import annotations

from ..record.trace.model import SpanKind
from ..record.trace.outcome import Outcome, outcome_of
from ..record.trace.span import Span
from ..request.pending import PendingRequest
from .send import Send

LATE = "after the response"
"""The span of what the application still did then, where it failed."""
# The exceptions that frameworks raise in an application when the client has gone.
_DISCONNECTS = frozenset({"ClientDisconnect", "ClientDisconnected", "WebSocketDisconnect"})


def end(request: PendingRequest, error: BaseException | None, send: Send) -> None:
    """The application has returned, or raised.

    :param send: the server's
    """
    is_late = request.ended
    try:
        if is_late:
            if error is not None:
                _note_late(request, error, send)
        else:
            if error is not None:
                _note_outcome(request, error, send)
            elif request.scope["type"] == "http":
                # Without its last body. Starlette returns like this when the client has gone, and so does Quart. The
                # server cuts the response off, also if the client is still there.
                _tag_outcome(request, Outcome.CANCELLED)
            request.finish()
    except Exception as fault:  # noqa: BLE001, RUF100  (ours)
        request.faults.note("ending the span of a request", fault)
    # after a late end the request stays in the context, so that what the server logs of an error joins it
    if not is_late or request.previous is not None:
        request.leave()


def _note_late(request: PendingRequest, error: BaseException, send: Send) -> None:
    """The work behind the response has failed, as a background task of Starlette's. The request succeeded for its
    client, and its segment has gone: so the failure has a segment below it."""
    if not isinstance(error, Exception) or not request.is_recorded or _is_gone(request, error, send):
        return
    span = Span(LATE, SpanKind.LOCAL, tracer=request.tracer)
    span.start_below(request)
    span.error(error)
    span.stop()


def _note_outcome(request: PendingRequest, error: BaseException, send: Send) -> None:
    outcome = outcome_of(error)
    # a server answers a timeout that leaves the application as any other exception
    if outcome is Outcome.FAILED or isinstance(error, Exception):
        _fail(request, error, send)
    elif outcome is not Outcome.OK:
        # the client or the server went away: an end, not a failure of the operation
        _tag_outcome(request, outcome)


def _tag_outcome(request: PendingRequest, outcome: Outcome) -> None:
    span = request.to_span() if request.status < 500 else None
    if span is not None:
        span.tag_outcome(outcome)


def _fail(request: PendingRequest, error: BaseException, send: Send) -> None:
    if _is_gone(request, error, send):
        # an end as well, and an answer of the framework reached no client
        request.status = request.status if request.status < 500 else 0
        # a websocket's client may hang up when it likes
        if type(error).__name__ != "WebSocketDisconnect":
            _tag_outcome(request, Outcome.CANCELLED)
        return
    span = request.to_span()
    if span is not None:
        span.error(error)
    # the status that a server sends for an application that raised before its response
    request.status = request.status or 500


def _is_gone(request: PendingRequest, error: BaseException, send: Send) -> bool:
    """Whether the error is that the client has gone."""
    is_gone = request.following is not None and request.following.client_is_gone
    is_gone = is_gone or (isinstance(error, OSError) and _passed_through(send, error))
    return is_gone or type(error).__name__ in _DISCONNECTS


def _passed_through(send: Send, error: BaseException) -> bool:
    """Whether an error was raised below the server's `send`, as far as that is a Python function."""
    code = getattr(getattr(send, "__func__", send), "__code__", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        trace = trace.tb_next
    return False
