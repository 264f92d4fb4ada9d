"""Whether a segment failed, by its own spans: not where one failed and a span above went on; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

Outcome = Literal[0, 1, 2]
NOT_FAILED: Outcome = 0
FAILED: Outcome = 1
"""The request failed that began the trace, or work that no request waits for."""
ANSWERED: Outcome = 2
"""It failed in what it answered to another segment, which may have gone on without it."""
GRAPHQL_TAG = "graphql.operation.type"
GRAPHQL_PREFIX = "GraphQL/"
"""Of a local span with the one or the other, which is a GraphQL operation or the look at its document."""
_LOCAL = 2
_MESSAGING = 4  # the layer of consumers: the producer does not wait for them
_CROSS_THREAD = 1


def failed_by(spans: Iterable[Any]) -> Outcome:
    """How a segment ended.

    :param spans: its messages
    """
    by_id = {span.spanId: span for span in spans}
    return worst(_outcome(span, by_id) for span in by_id.values() if span.isError)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The one of several that counts."""
    found = set(outcomes)
    return FAILED if FAILED in found else ANSWERED if ANSWERED in found else NOT_FAILED


def _outcome(span: Any, by_id: dict[int, Any]) -> Outcome:
    """How a failed span ends its segment. Where a span above is missing it does not: the one that heads the segment
    says so when it comes."""
    is_answer = False
    for _ in range(len(by_id)):
        if span.parentSpanId < 0:
            refs = span.refs
            is_awaited = refs and span.spanLayer != _MESSAGING and refs[0].refType != _CROSS_THREAD
            return ANSWERED if is_awaited else FAILED
        above = by_id.get(span.parentSpanId)
        if above is None:
            return NOT_FAILED
        # an answer of GraphQL has the status 200, whatever failed
        is_answer = is_answer or _is_operation(span)
        if not (above.isError or is_answer):
            # work that goes on after the span above is not waited for: it failed by itself
            return FAILED if span.endTime > above.endTime else NOT_FAILED
        span = above
    return NOT_FAILED


def _is_operation(span: Any) -> bool:
    return span.spanType == _LOCAL and (
        span.operationName.startswith(GRAPHQL_PREFIX) or any(tag.key == GRAPHQL_TAG for tag in span.tags)
    )
