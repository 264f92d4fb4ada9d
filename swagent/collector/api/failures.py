"""The failures in a segment, and the group of each; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from ..store.trace_records import Segment, Span
from .stacks import Frame, last_line, own_frame

_LONGEST = 300
_MOST_CALLERS = 100
_STATUS = ("http.status_code", "status_code", "grpc.status_code", "rpc.grpc.status_code", "http.response.status_code")


class Group(NamedTuple):
    """The common part of failures of one group.

    :ivar kind: of the exception; empty where a span failed without one
    :ivar file: of the application's own frame that is nearest to where it was raised; empty where there is no stack
    :ivar status: the status that a span answered or got, where it failed without an exception
    :ivar operation: of that span, or of one whose exception has no stack
    """

    kind: str
    file: str = ""
    function: str = ""
    status: str = ""
    operation: str = ""

    @property
    def id(self) -> str:
        """Its name in an address. The same failure has it again after a restart."""
        text = "\0".join(self).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()[:16]


class Failure(NamedTuple):
    """One span that failed.

    :ivar number: of its segment in the store
    :ivar name: of the span, as an answer about its trace has it
    :ivar endpoint: of the segment
    :ivar calls: the names of the failed calls below it: where the failure of one began elsewhere, so did this one
    """

    number: int
    group: Group
    trace: str
    name: str
    service: str
    endpoint: str
    operation: str
    time: int
    duration: int
    message: str
    line: int
    calls: tuple[str, ...] = ()


class Failed(NamedTuple):
    """The failures in a segment.

    :ivar failures: those that began here, or seem to
    :ivar callers: the names of spans elsewhere whose call failed here. Their failure began here, and that of the spans
        above them
    """

    failures: list[Failure]
    callers: list[str]


def failures(number: int, segment: Segment) -> Failed:
    """The spans that failed. An exception passes through several spans on its way up: the innermost
    counts. So does the inner one of a span that failed, and one above it that failed without an exception.

    :param number: of the segment in the store
    """
    callers: list[str] = []
    found: dict[int, Failure] = {}
    head = next((span for span in segment.spans if span.parent_span_id < 0), None)
    endpoint = head.operation if head else ""
    for span in segment.spans:
        if span.is_error:
            found[span.span_id] = _failure(number, segment, endpoint, span)
            callers += [f"{each.segment_id}:{each.span_id}" for each in span.references[:_MOST_CALLERS]]
    covered: set[int] = set()
    for span in segment.spans:
        below, above = found.get(span.span_id), found.get(span.parent_span_id)
        if below and above and span.span_id != span.parent_span_id and (above.group in (below.group, _plain(above))):
            covered.add(span.parent_span_id)
    calls = _calls(segment, found)
    kept = ((span, each) for span, each in found.items() if span not in covered)
    return Failed([each._replace(calls=tuple(calls.get(span, ()))) for span, each in kept], callers)


def _calls(segment: Segment, found: Mapping[int, Failure]) -> dict[int, list[str]]:
    """The failed calls at or below each failed span, as far as all spans between them have failed."""
    parents = {span.span_id: span.parent_span_id for span in segment.spans}
    calls: dict[int, list[str]] = {}
    for span in segment.spans:
        if span.kind == "Exit" and span.span_id in found:
            at, seen = span.span_id, set[int]()
            while at in found and at not in seen and len(calls.setdefault(at, [])) < _MOST_CALLERS:
                calls[at].append(found[span.span_id].name)
                seen.add(at)
                at = parents[at]
    return calls


def _plain(failure: Failure) -> Group | None:
    """Its group, where it has no exception of its own."""
    return None if failure.group.kind else failure.group


def _failure(number: int, segment: Segment, endpoint: str, span: Span) -> Failure:
    kind, message, stack = exception(span)
    frame = own_frame(stack) if stack else None
    return Failure(
        number,
        _group(span, kind, frame),
        segment.trace_id,
        f"{segment.segment_id}:{span.span_id}",
        segment.service,
        endpoint,
        span.operation,
        span.start_time,
        max(span.end_time - span.start_time, 0),
        message[:_LONGEST],
        frame.line if frame else 0,
    )


def _group(span: Span, kind: str, frame: Frame | None) -> Group:
    if not kind:
        return Group("", status=status(span), operation=span.operation[:_LONGEST])
    if frame is None:
        return Group(kind[:_LONGEST], operation=span.operation[:_LONGEST])
    return Group(kind[:_LONGEST], frame.file, frame.function)


def status(span: Span) -> str:
    """The status that it answered, or got; empty where it does not say."""
    tags = dict(reversed(span.tags))
    return next((tags[name][:_LONGEST] for name in _STATUS if tags.get(name)), "")


def exception(span: Span) -> tuple[str, str, str]:
    """The kind, the message and the stack of the newest exception in a span's logs; empty where there is none.

    SkyWalking's own agent for Python reports only a traceback. A text without a kind is a message of the span's own.
    """
    found = "", "", ""
    for log in span.logs:
        fields = dict(reversed(log.data))
        traceback = fields.get("Traceback", "")
        if traceback:
            kind, message = last_line(traceback)
            found = fields.get("error.kind") or kind, fields.get("message") or message, traceback
        elif fields.get("error.kind"):
            found = fields["error.kind"], fields.get("message", ""), fields.get("stack", "")
        elif fields.get("event") == "error" and not found[0]:
            found = "", fields.get("message", ""), fields.get("stack", "")
    return found
