"""Event loops that were begun one after the other in one request: `asyncio.run` for each item; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..api.node import Node
from .calls import is_exit
from .cause_findings import place_of
from .finding import MOST_PLACES, Confidence, Finding, trace_link
from .holds import logged_frame, millis
from .places import place, places
from .repeats import WORTH_MS, union
from .requests import entry_of
from .words import duration, plural

RUNS = "loop.runs"
LEAST = 5
"""Loops below one span that are worth a finding; a framework makes one or two for a request."""
_LEAST_ALONE = 10  # where no call in them is known, and so nothing that they cost


def loop_runs(nodes: Iterable[Node]) -> Iterator[Finding]:
    """A finding for each span below which a loop was begun for each of many items."""
    for node in nodes:
        runs = millis(node.span, RUNS)
        if runs >= LEAST:
            calls = _calls_below(node)
            if union(calls) >= WORTH_MS or (runs >= _LEAST_ALONE and not calls):
                yield _finding(node, runs, calls)


def _calls_below(node: Node) -> list[Node]:
    """The calls below a span, in its own segment."""
    found: list[Node] = []
    waiting = list(node.children)
    while waiting:
        child = waiting.pop()
        if child.segment is node.segment:
            waiting += child.children
            found += [child] if is_exit(child) else []
    return sorted(found, key=lambda each: each.start)


def _finding(node: Node, runs: int, calls: list[Node]) -> Finding:
    entry, took, frame = entry_of(node) or node, union(calls), logged_frame(node, RUNS)
    peers = {each.span.peer for each in calls} - {""}
    peer = next(iter(peers)) if len(peers) == 1 else ""
    to = f" to {peer or f'{len(peers)} peers'}" if peers else ""
    by = f", begun at {place_of(frame)}" if frame else ""
    text = f"{node.segment.service} · {entry.span.operation} · {plural(runs, 'event loop')} in one request"
    if calls:
        each = "one for each call" if len(calls) == runs else f"with {plural(len(calls), 'call')}"
        text += f", {each}{to}{by} · {duration(took)}; no connection outlives its loop"
    else:
        text += by
    confidence: Confidence = "high" if len(calls) >= runs else "medium"
    evidence = (place(node), *places(calls))[:MOST_PLACES]
    return Finding(
        "loop_runs", text, node.segment.service, entry.span.operation, confidence, trace_link(evidence[0]), count=runs,
        ms=took, share=round(took / max(entry.end - entry.start, 1), 4), peer=peer, frame=frame, places=evidence,
    )  # fmt: skip
