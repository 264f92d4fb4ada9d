"""When an event loop was held, and for how long a request waited for that, by the agents' tags and events; pure.

The agent notes a hold when its limit has passed, and counts on in the tag `loop.blocked`. So a hold's begin is known
about. A request that waited has only a sum, `loop.waited`. Part of it may lie before its span: an answer that waits in
a socket, and a request that comes in, are seen when the loop turns again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..api.node import Node
from ..store.records import Event
from ..store.trace_records import Segment, Span
from .finding import Place

BLOCKED, WAITED = "loop.blocked", "loop.waited"
OWN_CODE = "own.code"
"""The event of code that was seen while it ran for long."""
_LIMIT = 100  # milliseconds after which the watch notes a hold, if nothing else is set
_SLACK = 60  # milliseconds: how much later than the end of a hold the application may see a request that waited for it
Process = tuple[str, str]


class Hold(NamedTuple):
    """A time for which a process's loop was held.

    :ivar frame: the innermost function of the application's own code
    :ivar place: the span that held it; None where no span did
    :ivar operation: of that span
    """

    process: Process
    start: int
    end: int
    frame: str
    operation: str
    place: Place | None


def millis(span: Span, key: str) -> int:
    """The milliseconds in a tag; 0 where there are none."""
    text = (span.tag(key) or "").partition(".")[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def holds_of(segment: Segment, shift: int = 0) -> Iterator[Hold]:
    """The times for which spans of a segment held the loop.

    :param shift: milliseconds by which its clock is corrected
    """
    for span in segment.spans:
        took = millis(span, BLOCKED)
        if took:
            yield from _holds(segment, span, took, shift)


def _holds(segment: Segment, span: Span, took: int, shift: int) -> Iterator[Hold]:
    place = Place(segment.trace_id, f"{segment.segment_id}:{span.span_id}")
    logs = [log for log in span.logs if ("event", BLOCKED) in log.data]
    each = took // max(len(logs), 1)
    noted = [(log.time - min(_LIMIT, each), dict(log.data).get("frame", "")) for log in logs]
    for moment, frame in noted or [(span.start_time, "")]:
        start = max(span.start_time, min(moment, span.end_time - each)) + shift
        yield Hold((segment.service, segment.instance), start, start + each, frame, span.operation, place)


def holds_of_events(events: Iterable[Event]) -> Iterator[Hold]:
    """The holds that instances reported as events: also by code outside of any span."""
    for event in events:
        if event.name == "loop_blocked":
            yield Hold(event.source, event.start_time, event.end_time, event.parameters.get("frame", ""), "", None)


def logged_frame(node: Node, event: str) -> str:
    """The function that a span's log of an event names; empty where there is none."""
    return next((dict(log.data).get("frame", "") for log in node.span.logs if ("event", event) in log.data), "")


class Waits(NamedTuple):
    """How long a request waited for a loop that was held: before its span began, and within it."""

    before: int
    within: int


def waits_of(entry: Node, holds: Sequence[Hold]) -> Waits:
    """Split what an entry span says that it waited."""
    waited = millis(entry.span, WAITED)
    if not waited:
        return Waits(0, 0)
    took = entry.end - entry.start
    near = [each for each in holds if each.start < entry.end and each.end > entry.start - _SLACK]
    if near:
        before = sum(max(min(each.end, entry.start) - max(each.start, entry.start - waited), 0) for each in near)
        within = sum(overlap(each, entry.start, entry.end) for each in near)
        if before + within:
            before = round(waited * before / (before + within))
            return Waits(max(before, waited - took), min(waited - before, took))
    if waited > took:
        return Waits(waited, 0)
    gap = entry.start - entry.parent.start if entry.parent is not None else 0
    before = min(waited, gap) if 2 * gap > waited else 0
    return Waits(before, waited - before)


def overlap(hold: Hold, start: int, end: int) -> int:
    """For how long of a time the loop was held."""
    return max(min(hold.end, end) - max(hold.start, start), 0)
