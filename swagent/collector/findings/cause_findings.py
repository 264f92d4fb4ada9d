"""The finding that names a cause of a trace, and its sentence; pure."""

from __future__ import annotations

from .calls import answered_by
from .causes import Cause, CauseKind
from .culprit import Suspect, Verdict
from .finding import MOST_PLACES, Baseline, Confidence, Finding, Kind, trace_link
from .places import place, places
from .requests import IN_THREADS, entry_of, is_split
from .words import duration, percent, short_path, times

_KINDS: dict[CauseKind, Kind] = {
    "call": "slow_dependency", "way": "slow_way", "own": "slow_own_code",
    "unsplit": "time_without_span", "wait": "slow_wait", "pool": "pool", "lock": "lock",
    "holding": "blocked_loop", "held": "blocked_loop", "busy": "busy_loop",
}  # fmt: skip
_ENOUGH = 20
"""Calls of which the median is believed."""
_HOW = " (in ASGI applications SW_AGENT_TIME_SPLIT_EVERY=1 or the accelerator measures it)"


def finding_of(suspect: Suspect, verdict: Verdict) -> Finding:
    """The finding that names a cause of a trace."""
    cause, node = suspect.cause, suspect.cause.node
    entry = entry_of(node) or node
    evidence = places(sorted(cause.parts, key=lambda each: -cause.parts[each]))
    if cause.similar is not None:
        evidence = (*evidence[: MOST_PLACES - 1], place(cause.similar))
    if cause.hold is not None and cause.hold.place is not None:
        evidence = (cause.hold.place, *(each for each in evidence if each != cause.hold.place))
    share = cause.ms / verdict.took if verdict.took else 0.0
    return Finding(
        _KINDS[cause.kind],
        f"{percent(share)} · {sentence(suspect)}",
        cause.service,
        cause.what if cause.kind in ("call", "way") else entry.span.operation,
        _confidence(suspect, verdict),
        trace_link(place(node)),
        count=len(cause.parts),
        ms=cause.ms,
        share=round(share, 4),
        peer=cause.peer,
        frame=cause.frame,
        places=evidence[:MOST_PLACES],
        baseline=suspect.baseline,
    )


def _confidence(suspect: Suspect, verdict: Verdict) -> Confidence:
    if suspect.cause.kind == "unsplit":
        return "low"
    sure = _sure(suspect, verdict)
    return "medium" if sure == "high" and _is_unmeasured(suspect.cause) else sure


def _is_unmeasured(cause: Cause) -> bool:
    """Whether the split of another request speaks, or code that was seen and may have run for a part of the time."""
    entry = entry_of(cause.node)
    return cause.similar is not None or (cause.kind == "own" and (entry is None or not is_split(entry)))


def _sure(suspect: Suspect, verdict: Verdict) -> Confidence:
    if suspect.cause.kind in ("holding", "held"):
        return "high" if suspect.cause.frame else "medium"
    is_sure = suspect.baseline is not None and suspect.baseline.calls >= _ENOUGH
    if is_sure and verdict.is_slow and 2 * suspect.excess >= verdict.excess:
        return "high"
    return "medium" if 2 * suspect.cause.ms >= verdict.took else "low"


def sentence(suspect: Suspect) -> str:
    """Name the cause that took the time, and how long it takes usually."""
    cause, entry = suspect.cause, entry_of(suspect.cause.node) or suspect.cause.node
    took, where, frame = duration(cause.ms), f"{cause.service} · {entry.span.operation}", place_of(cause.frame)
    if cause.kind == "call":
        name = times(len(cause.parts), cause.what) if len(cause.parts) > 1 else cause.what
        to = f"{cause.service} → {cause.peer}" if cause.peer else cause.service
        return f"{to} · {name} · {took}{_usually(suspect, len(cause.parts))}"
    if cause.kind == "way":
        to = f"{cause.service} → {answered_by(cause.node)}"
        where = "the network, a full queue, or a loop that did not turn"
        return f"{to} · {cause.what} · {took} on the way, while neither was at work: {where}"
    if cause.kind == "holding":
        return f"{where} held its event loop for {took}{f' in {frame}' if frame else ''}"
    if cause.kind == "held":
        by = f", which {frame} held" if frame else ", which was held"
        return f"{where} waited for its event loop{by} · {took}{_when(cause)}"
    return _without_call(suspect, where, took)


def _without_call(suspect: Suspect, where: str, took: str) -> str:
    """Name a cause that is known, if at all, by a span of a wait, or by how the time of a request was split."""
    cause, baseline = suspect.cause, suspect.baseline
    if cause.similar is not None:
        took = f"{took}, by the split of a similar request"
    if cause.kind == "busy":
        return f"{where} was ready and waited for its busy event loop · {took}"
    request = f"; the request usually takes {duration(baseline.p50)} ({_median(baseline)})" if baseline else ""
    if cause.kind == "pool":
        return f"{where} waited for a connection of {cause.what}{_in_use(cause)} · {took}{request}"
    if cause.kind == "lock":
        return f"{where} waited for {cause.what} · {took}{request}"
    if cause.kind == "wait":
        return f"{where} awaited {cause.what} · {took}{request}"
    return f"{where} · {_own_time(cause, took)}{request}"


def _own_time(cause: Cause, took: str) -> str:
    """Own code, or time of which it is not known whether it is that."""
    entry = entry_of(cause.node) or cause.node
    within = f" in {cause.what}" if cause.what != entry.span.operation else ""
    if cause.kind == "unsplit":
        how = _HOW if entry.span.layer == "Http" else ""
        return f"{took}{within} without a span: own code or a wait, which was not measured{how}"
    if cause.what in IN_THREADS:
        within = " in a thread"
    seen = f", seen in {place_of(cause.frame)}" if cause.frame else ""
    return f"its own code{within}{seen} · {took}"


def _in_use(cause: Cause) -> str:
    """How full the pool was when the longest of the waits began."""
    span = cause.node.span
    in_use, limit = span.tag("pool.in_use"), span.tag("pool.limit")
    if not in_use:
        return ""
    return f", {in_use} of {limit} in use" if limit else f", {in_use} in use"


def _usually(suspect: Suspect, count: int) -> str:
    if suspect.baseline is None:
        return ""
    each = "each usually" if count > 1 else "usually"
    return f", {each} {duration(suspect.baseline.p50)} ({_median(suspect.baseline)})"


def _median(baseline: Baseline) -> str:
    return f"p50 of {baseline.calls:,}"


def _when(cause: Cause) -> str:
    if 2 * cause.before > cause.ms:
        return ", before the application saw the request"
    return f", while it waited for {cause.inside}" if cause.inside else ""


def place_of(frame: str) -> str:
    """A frame, `/app/shop/app.py:18 hold`, with the end of its path."""
    path, colon, rest = frame.partition(":")
    return f"{short_path(path)}{colon}{rest}"
