"""What failed in a trace: where its failures began, and whether a request failed because of them; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..store.trace_records import Segment, Span
from .failures import Failure, failures

Answer = dict[str, Any]


def trace_failure(segments: Iterable[Segment]) -> Answer | None:
    """What failed in the segments of a trace; None where nothing did.

    :param segments: those with failed spans
    """
    known = _Known(segments)
    callers = {name for each in known.failed.values() for name in each.callers}
    own = [
        (failure, each.segment)
        for each in known.failed.values()
        for failure in each.failures
        if callers.isdisjoint(failure.calls)
    ]
    if not own:
        return None
    unhandled = [failure for failure, segment in own if not known.is_handled(failure, segment)]
    first = max(unhandled or [failure for failure, _ in own], key=lambda each: (bool(each.group.kind), -each.time))
    return {
        "count": len(unhandled or own),
        "kind": first.group.kind,
        "status": first.group.status,
        "service": first.service,
        "is_handled": not unhandled,
    }


class _Failed(NamedTuple):
    segment: Segment
    failures: list[Failure]
    callers: list[str]


class _Known:
    """The failed segments of a trace."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.failed: dict[str, _Failed] = {}
        for number, segment in enumerate(segments):
            found = failures(number, segment)
            # a long request sends several segments of one id: each is kept
            self.failed[f"{segment.segment_id} {number}"] = _Failed(segment, *found)
        self._spans = {
            (each.segment.segment_id, span.span_id): span
            for each in self.failed.values()
            for span in each.segment.spans
        }

    def is_handled(self, failure: Failure, segment: Segment) -> bool:
        """Whether a span above a failed one has not failed, in this service or in one that called it. Where the way up
        is not known it is not."""
        place = (segment.segment_id, int(failure.name.rpartition(":")[2]))
        seen = set[tuple[str, int]]()
        below: Span | None = None
        while place not in seen:
            seen.add(place)
            span = self._spans.get(place)
            if span is None:
                return False
            if not span.is_error:
                # work that goes on after the request is not waited for: it failed by itself
                return below is not None and below.end_time <= span.end_time
            below = span
            if span.parent_span_id >= 0:
                place = (place[0], span.parent_span_id)
            elif span.references and span.layer != "MQ":
                place = (span.references[0].segment_id, span.references[0].span_id)
            else:
                return False
        return False
