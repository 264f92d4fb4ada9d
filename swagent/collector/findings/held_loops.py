"""The event loops that were held, over all that is kept: by which code, how often, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..api.pieces import pieces
from ..store.records import Event
from ..store.store import Store
from ..store.tag_text import BETWEEN, EQUALS
from .cause_findings import place_of
from .finding import Finding, trace_link, view_link
from .holds import BLOCKED, Hold, holds_of, holds_of_events
from .words import duration, plural

MOST = 300
"""Segments with a held loop that are read, the newest."""
LEAST, LEAST_MS = 2, 500
"""So many holds by the same code are a finding, or one that was so long: in milliseconds."""
_NUMBERS = """
SELECT id FROM segments WHERE id > :low AND id <= :high AND instr(tags, :tag) AND start >= :from AND start <= :to
"""


def all_holds(store: Store, bounds: Mapping[str, int]) -> list[Hold]:
    """The newest holds that are kept, those of events among them.

    :raises StoreError: when the store cannot be read
    """
    since, until = bounds.get("from", 0), bounds.get("to", 2**62)
    numbers: list[int] = []
    values = {"tag": f"{BETWEEN}{BLOCKED}{EQUALS}", "from": since, "to": until}
    for piece in pieces(store, "segments"):
        numbers += [number for (number,) in store.read(_NUMBERS, {**piece, **values})]
    segments = filter(None, map(store.segment, numbers[-MOST:]))
    by_spans = [hold for segment in segments for hold in holds_of(segment)]
    events = (event for event in store.records(Event) if since <= event.start_time <= until)
    return merged(by_spans, holds_of_events(events))


def merged(by_spans: Iterable[Hold], by_events: Iterable[Hold]) -> list[Hold]:
    """The holds that spans have noted, once each, and of those that events report the others."""
    found = list(dict.fromkeys(by_spans))
    for event in by_events:
        same = (hold for hold in found if hold.process == event.process)
        if not any(hold.start < event.end and event.start < hold.end for hold in same):
            found.append(event)
    return found


@dataclass
class _Holder:
    """The code that held loops.

    :ivar frame: of the newest hold
    """

    frame: str
    operation: str
    holds: list[Hold] = field(default_factory=list[Hold])


def held_loops(holds: Iterable[Hold]) -> Iterator[Finding]:
    """A finding for each code that held a loop several times, or long."""
    by_code: dict[tuple[str, str], _Holder] = {}
    for hold in holds:
        holder = by_code.setdefault((hold.process[0], code_of(hold.frame)), _Holder(hold.frame, hold.operation))
        holder.holds.append(hold)
        holder.frame, holder.operation = hold.frame, hold.operation or holder.operation
    for (service, _), holder in by_code.items():
        took = [hold.end - hold.start for hold in holder.holds]
        if len(took) >= LEAST or sum(took) >= LEAST_MS:
            yield _finding(service, holder, sum(took), max(took))


def code_of(frame: str) -> str:
    """A frame without its line, which moves while one works."""
    path, _, rest = frame.partition(":")
    return f"{path} {rest.partition(' ')[2]}"


def _finding(service: str, holder: _Holder, total: int, longest: int) -> Finding:
    count = len(holder.holds)
    by = place_of(holder.frame) or holder.operation or "code that has no name"
    often = f"{plural(count, 'time')}, {duration(total)} in all, {duration(longest)} at the most"
    during = f" in {holder.operation}" if holder.operation else ", outside of any request"
    known = [hold.place for hold in holder.holds if hold.place is not None]
    return Finding(
        "blocked_loop", f"{service} · {by} held the event loop{during}: {often if count > 1 else duration(total)}",
        service, holder.operation, "high", trace_link(known[-1]) if known else view_link("runtime"), count=count,
        ms=total, frame=holder.frame, places=tuple(known[-20:]),
    )  # fmt: skip
