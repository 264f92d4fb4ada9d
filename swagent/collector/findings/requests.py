"""The requests of the entry spans on a critical path: for how long each waited for a held loop, and how its own time is
split; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from ..api.node import Node
from .holds import WAITED, Hold, Process, millis, waits_of
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
    :ivar similar: the entry span of another request, whose split stands for that of this one, which has none
    :ivar before: milliseconds left of those before its span
    :ivar within: as `before`, of those in it
    """

    def __init__(self, entry: Node, holds: Sequence[Hold], similar: Node | None = None) -> None:
        """
        :param holds: of its process
        :param similar: the entry span of another request of the operation, whose time was split
        """
        self.entry = entry
        self.similar = None if is_split(entry) else similar
        others = [each for each in holds if not _is_own(each, entry)]
        waits = waits_of(entry, others)
        self.before, self.within = waits
        first = entry.start - waits.before
        near = [each for each in others if each.start < entry.end and each.end > first] if sum(waits) else []
        self.hold = max(near, key=lambda each: each.end - each.start, default=None)
        self._held = waits.within
        self._share = _share_waited_for(entry)
        if self.similar is not None:
            self._share *= (entry.end - entry.start) / (self.similar.end - self.similar.start)
            self._held = round(millis(self.similar.span, WAITED) * self._share)

    @property
    def is_split(self) -> bool:
        """Whether it is known what it did with its own time."""
        return self.similar is not None or is_split(self.entry)

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
        if not self.is_split:
            return 0, 0, ""
        split = self.similar or self.entry
        ready, running, awaiting = (
            round(millis(split.span, tag) * self._share) for tag in ("time.ready", "time.running", "time.awaiting")
        )
        busy = min(max(ready - self._held, 0), total)
        waited = min(max(total - busy - running, 0), awaiting)
        return busy, waited, _awaited(split)


def is_split(entry: Node) -> bool:
    """Whether a request says for how much of its time it ran."""
    return entry.span.tag("time.running") is not None


def _awaited(entry: Node) -> str:
    """The longest wait of a request that is none for a call or a connection."""
    spans = entry.segment.spans
    calls = {f"{span.operation} {span.peer}".strip() for span in spans if span.kind == "Exit"} | {"other"}
    calls.update(span.operation for span in spans if span.kind == "Local" and span.tag("pool"))
    names = [name for name, _ in awaited_pairs(entry) if name not in calls]
    return names[0] if names else _NOTHING


def awaited_pairs(entry: Node) -> Iterator[tuple[str, float]]:
    """The pairs of `time.awaited`, the longest first; of a text that is something else none."""
    with suppress(ValueError, TypeError):
        found: Any = json.loads(entry.span.tag("time.awaited") or "[]")
        for pair in cast("list[Any]", found)[:_MOST]:
            name, ms = pair
            yield str(name), float(ms)


def requests_on(path: Sequence[Piece], holds: Sequence[Hold], similar: Mapping[str, Node]) -> dict[str, Request]:
    """The requests of a path, by their segments.

    :param similar: by the segment of a request whose time was not split a similar one
    """
    by_process: dict[Process, list[Hold]] = {}
    for hold in holds:
        by_process.setdefault(hold.process, []).append(hold)
    found: dict[str, Request] = {}
    for piece in path:
        segment = piece.node.segment
        if segment.segment_id not in found:
            entry = entry_of(piece.node)
            if entry is not None:
                near = by_process.get((segment.service, segment.instance), ())
                found[segment.segment_id] = Request(entry, near, similar.get(segment.segment_id))
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
