"""The requests of the entry spans on a critical path: for how long each waited for a held loop, and how its own time is
split; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from ..api.node import Node
from .holds import Hold, Process, millis, waits_of
from .path import Piece

_NOTHING = "something that has no span"
_MOST = 8
IN_THREADS = frozenset(("anyio.run_sync", "trio.to_thread_run_sync", "asyncio.to_thread", "asyncio.run_in_executor"))
"""Waits for the application's own code, in another thread."""


_LOCK = re.compile(r"(asyncio|anyio|trio)\.(Lock|StrictFIFOLock|Semaphore|BoundedSemaphore|CapacityLimiter)\b")


def is_lock(awaited: str) -> bool:
    """Whether a wait is one for a lock, a semaphore or a limiter."""
    return _LOCK.match(awaited) is not None


class Request:
    """One request, and how much of what it waited for the loop is not accounted for yet.

    :ivar hold: the longest hold of its loop by others that is known; None where none is
    :ivar before: milliseconds left of those before its span
    :ivar within: as `before`, of those in it
    """

    def __init__(self, entry: Node, holds: Sequence[Hold]) -> None:
        """:param holds: of its process"""
        self.entry = entry
        others = [each for each in holds if not _is_own(each, entry)]
        waits = waits_of(entry, others)
        self.before, self.within = waits
        first = entry.start - waits.before
        near = [each for each in others if each.start < entry.end and each.end > first] if sum(waits) else []
        self.hold = max(near, key=lambda each: each.end - each.start, default=None)
        self._held = waits.within
        self._share = _share_waited_for(entry)

    def take_before(self, most: int) -> int:
        """Account for some of the wait before the span; returns how much was left of it."""
        took = min(most, self.before)
        self.before -= took
        return took

    def take_within(self, most: int) -> int:
        """As `take_before`, of the wait within the span."""
        took = min(most, self.within)
        self.within -= took
        return took

    def own(self, total: int) -> tuple[int, int, str]:
        """Split time that no call covers.

        :returns: milliseconds for which it was ready and others had the loop; for which it awaited something that is
            no call; and the name of that
        """
        span = self.entry.span
        if span.tag("time.running") is None:
            return 0, 0, ""
        ready, running, awaiting = (
            round(millis(span, tag) * self._share) for tag in ("time.ready", "time.running", "time.awaiting")
        )
        busy = min(max(ready - self._held, 0), total)
        waited = min(max(total - busy - running, 0), awaiting)
        return busy, waited, self._awaited()

    def _awaited(self) -> str:
        """The longest wait that is none for a call or a connection."""
        spans = self.entry.segment.spans
        calls = {f"{span.operation} {span.peer}".strip() for span in spans if span.kind == "Exit"} | {"other"}
        calls.update(span.operation for span in spans if span.kind == "Local" and span.tag("pool"))
        names = [name for name, _ in awaited_pairs(self.entry) if name not in calls]
        return names[0] if names else _NOTHING


def awaited_pairs(entry: Node) -> Iterator[tuple[str, float]]:
    """The pairs of `time.awaited`, the longest first; of a text that is something else none."""
    with suppress(ValueError, TypeError):
        found: Any = json.loads(entry.span.tag("time.awaited") or "[]")
        for pair in cast("list[Any]", found)[:_MOST]:
            name, ms = pair
            yield str(name), float(ms)


def requests_on(path: Sequence[Piece], holds: Sequence[Hold]) -> dict[str, Request]:
    """The requests of a path, by their segments."""
    by_process: dict[Process, list[Hold]] = {}
    for hold in holds:
        by_process.setdefault(hold.process, []).append(hold)
    found: dict[str, Request] = {}
    for piece in path:
        segment = piece.node.segment
        if segment.segment_id not in found:
            entry = entry_of(piece.node)
            if entry is not None:
                found[segment.segment_id] = Request(entry, by_process.get((segment.service, segment.instance), ()))
    return found


def entry_of(node: Node) -> Node | None:
    """The entry span of a span's segment, above it; None where there is none."""
    current: Node | None = node
    while current is not None and current.segment is node.segment:
        if current.span.kind == "Entry":
            return current
        current = current.parent
    return None


def _share_waited_for(entry: Node) -> float:
    """The share of a request's time for which its caller waited: one that was given up goes on."""
    took = entry.end - entry.start
    if entry.parent is None or took <= 0:
        return 1.0
    return max(min(entry.parent.end, entry.end) - entry.start, 0) / took


def _is_own(hold: Hold, entry: Node) -> bool:
    return hold.place is not None and hold.place.span.startswith(f"{entry.segment.segment_id}:")
