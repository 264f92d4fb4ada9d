"""The findings of one trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..api.loop import neighbours
from ..api.node import Node
from ..cancelling import stop_if_cancelled
from ..store.records import Event
from ..store.store import Store
from ..store.trace_records import Segment
from .baselines import Baselines, Usual
from .cancellations import cancellations
from .cause_findings import finding_of
from .causes import causes
from .chains import chain_of
from .chains import finding_of as chain_finding
from .culprit import Verdict, judge, operations_of
from .finding import Finding, trace_link
from .held_loops import merged
from .holds import Hold, holds_of, holds_of_events, waits_of
from .joining import Joined, joined
from .loop_runs import loop_runs
from .places import place
from .queues import waited
from .repeats import n_plus_one, repeats, retry_storm
from .similar import Similar, similar_requests
from .words import duration

_ENOUGH = 0.4
"""The share of the time beyond the usual that a culprit explains, if it is amiss: else there is no single cause."""


class Found(NamedTuple):
    """The findings of a trace, and its culprit.

    :ivar culprit: the cause that had most of it, or that took most longer than usual; None of a trace without a length
    :ivar findings: the culprit is among them where the trace is slow
    """

    culprit: Finding | None
    findings: list[Finding]


def of_trace(store: Store, baselines: Baselines, trace_id: str) -> Found | None:
    """The findings of a trace; None when no segment of it is kept.

    :raises StoreError: when the store cannot be read
    """
    segments = _segments(store, trace_id)
    trace = joined(segments)
    if trace is None:
        return Found(None, []) if segments else None
    own = store.segment_numbers(trace_id)
    known = baselines.usual(operations_of(trace.path), own)
    similar = similar_requests(store, [trace.path])
    found = found_in(trace, known, holds_around(store, trace_id, segments), similar)
    return found._replace(findings=[*found.findings, *waited(store, trace.nodes)])


def _segments(store: Store, trace_id: str) -> list[Segment]:
    found: list[Segment] = []
    for number in store.segment_numbers(trace_id):
        stop_if_cancelled()
        segment = store.segment(number)
        if segment is not None:  # else it has fallen out meanwhile
            found.append(segment)
    return found


def holds_around(store: Store, trace_id: str, segments: Sequence[Segment]) -> list[Hold]:
    """The holds of the loops of a trace: by its own spans, by those of other traces, and by code without a span."""
    found = [hold for segment in segments for hold in holds_of(segment)]
    for each in neighbours(store, trace_id)["spans"]:
        segment = next((one for one in store.trace(each["trace_id"]) if each["id"].startswith(one.segment_id)), None)
        found += holds_of(segment) if segment is not None else ()
    return merged(found, holds_of_events(store.records(Event)))


def found_in(trace: Joined, known: Usual, holds: Sequence[Hold], similar: Similar) -> Found:
    """The findings of a joined trace, by the baselines of others, and by similar requests where its own were not
    split."""
    suspects = causes(trace.path, holds, similar)
    verdict = judge(trace.head, trace.path, suspects, known)
    many = list(_repeated(trace, verdict.took))
    culprit = _culprit(verdict, many)
    findings = [*many, *loop_runs(trace.nodes), *cancellations(trace.nodes), *_before(trace.head, holds)]
    findings += _held(verdict, culprit)
    chain = chain_of(trace.head, trace.nodes)
    if chain is not None:
        findings.append(chain_finding(chain))
    is_enough = verdict.suspects and verdict.suspects[0].excess >= _ENOUGH * verdict.excess
    if culprit is not None and verdict.is_slow and is_enough and culprit not in findings:
        findings.insert(0, culprit)
    return Found(culprit, findings)


def _culprit(verdict: Verdict, many: Sequence[Finding]) -> Finding | None:
    """The first suspect. Calls that were made again and again have a finding that says more."""
    if not verdict.suspects:
        return None
    first = finding_of(verdict.suspects[0], verdict)
    named = {(each.trace_id, each.span) for each in first.places}
    if first.kind == "slow_dependency" and first.count > 1:
        return next((each for each in many if named & {*each.places}), first)
    return first


def _repeated(trace: Joined, took: int) -> Iterator[Finding]:
    for repeat in repeats(trace.nodes):
        found = retry_storm(repeat, took) or n_plus_one(repeat, took)
        if found is not None:
            yield found


def _held(verdict: Verdict, culprit: Finding | None) -> Iterator[Finding]:
    """Holds of the loop are findings also where something else took more."""
    for suspect in verdict.suspects:
        if suspect.cause.kind in ("holding", "held"):
            found = finding_of(suspect, verdict)
            if culprit is None or found.sentence != culprit.sentence or not verdict.is_slow:
                yield found


def _before(head: Node, holds: Sequence[Hold]) -> Iterator[Finding]:
    """A request that came in while the loop was held: its span begins behind that."""
    process = head.segment.service, head.segment.instance
    waits = waits_of(head, [hold for hold in holds if hold.process == process])
    if head.span.kind != "Entry" or not waits.before:
        return
    near = [hold for hold in holds if hold.process == process and hold.start < head.start <= hold.end + waits.before]
    hold = max(near, key=lambda each: each.end, default=None)
    by = f", which {hold.frame.rpartition('/')[2]} held" if hold is not None and hold.frame else ""
    yield Finding(
        "blocked_loop",
        f"{head.segment.service} · {head.span.operation} waited for its event loop{by} · {duration(waits.before)} "
        "before the application saw the request",
        head.segment.service, head.span.operation, "high" if by else "medium",
        trace_link((hold.place if hold is not None else None) or place(head)), ms=waits.before,
        frame=hold.frame if hold is not None else "", places=(place(head),),
    )  # fmt: skip
