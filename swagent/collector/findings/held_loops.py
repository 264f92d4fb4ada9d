"""The event loops that were held, over all that is kept: by which code, how often, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..api.pieces import pieces
from ..store.records import Event
from ..store.store import Store
from ..store.tag_text import BETWEEN, EQUALS
from .cause_findings import place_of
from .finding import MOST_PLACES, Finding, trace_link, view_link
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
    :ivar ms: milliseconds of all holds, also of those that are not kept
    """

    frame: str
    operation: str
    ms: int = 0
    holds: list[Hold] = field(default_factory=list[Hold])


def held_loops(store: Store, holds: Iterable[Hold], is_bounded: bool) -> Iterator[Finding]:
    """A finding for each code that held a loop several times, or long.

    :param is_bounded: whether a time is asked for: the totals that agents report are those since their start
    """
    by_code: dict[tuple[str, str], _Holder] = {}
    for hold in holds:
        holder = by_code.setdefault((hold.process[0], code_of(hold.frame)), _Holder(hold.frame, hold.operation))
        holder.holds.append(hold)
        holder.ms += hold.end - hold.start
        holder.frame, holder.operation = hold.frame, hold.operation or holder.operation
    for key, (frame, ms) in ({} if is_bounded else _totals(store)).items():
        holder = by_code.setdefault(key, _Holder(frame, ""))
        holder.ms = max(holder.ms, ms)
    for (service, _), holder in by_code.items():
        if len(holder.holds) >= LEAST or holder.ms >= LEAST_MS:
            yield _finding(service, holder)


def _totals(store: Store) -> dict[tuple[str, str], tuple[str, int]]:
    """By code, a frame of it and the milliseconds for which it held loops: agents report few holds as events, and the
    sum of all."""
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for meter in store.meters:
        frame = dict(meter.labels).get("frame", "")
        if meter.name == "loop_blocked" and meter.value is not None and frame:
            key = meter.service, code_of(frame)
            found[key] = frame, found.get(key, (frame, 0))[1] + round(meter.value)
    return found


def code_of(frame: str) -> str:
    """A frame without its line, which moves while one works."""
    path, _, rest = frame.partition(":")
    return f"{path} {rest.partition(' ')[2]}"


def _finding(service: str, holder: _Holder) -> Finding:
    took = [hold.end - hold.start for hold in holder.holds]
    by = place_of(holder.frame) or holder.operation or "code that has no name"
    during = f" in {holder.operation}" if holder.operation else ", outside of any request"
    often = f"{duration(holder.ms)} in all"
    if len(took) > 1 and sum(took) == holder.ms:
        often = f"{plural(len(took), 'time')}, {often}"
    most = f", {duration(max(took))} at the most" if len(took) > 1 else ""
    known = [hold.place for hold in holder.holds if hold.place is not None]
    return Finding(
        "blocked_loop", f"{service} · {by} held the event loop{during}: {often}{most}", service, holder.operation,
        "high", trace_link(known[-1]) if known else view_link("runtime"), count=max(len(took), 1), ms=holder.ms,
        frame=holder.frame, places=tuple(known[-MOST_PLACES:]),
    )  # fmt: skip
