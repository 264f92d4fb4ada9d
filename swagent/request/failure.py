"""How the application's code left a request by an exception: as failed, cancelled or timed out."""

from __future__ import annotations

from ..record.trace.outcome import Outcome, outcome_of
from .pending import PendingRequest


def note_error(request: PendingRequest, error: BaseException) -> bool:
    """Note in the span of a request, which it opens, that an exception left the application's code.

    :returns: whether the request failed by it. A cancellation is no failure, a timeout that reaches the server is one.
    """
    outcome = outcome_of(error)
    span = request.to_span() if outcome is not Outcome.OK else None
    if span is None:
        return False
    if outcome is Outcome.FAILED or isinstance(error, Exception):
        span.error(error)
        return True
    span.tag_outcome(outcome)
    return False
