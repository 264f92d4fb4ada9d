"""The causes of a critical path: who had how much of its time, and by what; pure.

A call counts for the one that was called. Not so where the loop was held meanwhile: then the answer may have come long
before it was seen, so the time for which the request had to wait for the loop is taken from the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..api.node import Node
from .calls import answered_by, call_of, is_exit, pool_of
from .holds import OWN_CODE, Hold, Process, logged_frame, overlap
from .path import Piece
from .requests import IN_THREADS, Request, is_lock, requests_on

CauseKind = Literal["call", "way", "own", "unsplit", "wait", "pool", "lock", "holding", "held", "busy"]
"""A call; the way between two services that both say when they were at work; own code; time without a span that was not
split, so that it is own code or a wait; the wait for something that is no call; the wait for a connection of a pool,
and for a lock; the loop held by the request itself, or by others; and a loop that was merely busy."""

_NONE: Mapping[str, Node] = {}


@dataclass
class Cause:
    """The cause of a part of the path.

    :ivar what: the name of the call, of the awaited thing, or of the span whose code ran
    :ivar frame: the innermost function of the application's own code that held the loop, or was seen in a long step
    :ivar parts: of each span the milliseconds
    :ivar before: how much of `ms` was before the span of the request that waited
    :ivar inside: the call in which a wait for the loop hid
    :ivar similar: the entry span of another request, by whose split this is known
    """

    kind: CauseKind
    service: str
    what: str
    peer: str = ""
    frame: str = ""
    ms: int = 0
    before: int = 0
    inside: str = ""
    hold: Hold | None = None
    similar: Node | None = None
    parts: dict[Node, int] = field(default_factory=dict[Node, int])

    @property
    def node(self) -> Node:
        """The span that had most of it."""
        return max(self.parts, key=lambda node: self.parts[node])


def causes(path: Sequence[Piece], holds: Sequence[Hold], similar: Mapping[str, Node] = _NONE) -> list[Cause]:
    """The causes of a path, the longest first.

    :param holds: the times for which the loops of its processes were held, also by spans of other traces
    :param similar: by the segment of a request whose time was not split the entry span of a similar one whose time was
    """
    found = _Found(holds, requests_on(path, holds, similar))
    for piece in path:
        found.add(piece)
    found.settle()
    return sorted(found.causes.values(), key=lambda cause: -cause.ms)


class _Found:
    """The causes so far."""

    def __init__(self, holds: Sequence[Hold], requests: dict[str, Request]) -> None:
        self.causes: dict[tuple[str, ...], Cause] = {}
        self._requests = requests
        self._holds: dict[Process, list[Hold]] = {}
        for hold in holds:
            self._holds.setdefault(hold.process, []).append(hold)
        self._rest: dict[Node, int] = {}

    def add(self, piece: Piece) -> None:
        """Take what a held loop had of a piece; the rest waits for `settle`."""
        left = piece.ms - self._before_answer(piece)
        request = self._requests.get(piece.node.segment.segment_id)
        for hold in self._holds.get((piece.node.segment.service, piece.node.segment.instance), ()):
            took = min(overlap(hold, piece.start, piece.end), left)
            if took <= 0:
                continue
            if hold.place is not None and hold.place.span.startswith(f"{piece.node.segment.segment_id}:"):
                self._count(Cause("holding", piece.node.segment.service, hold.operation, "", hold.frame, hold=hold),
                            piece.node, took)  # fmt: skip
            elif request is not None:
                took = request.take_within(took)
                self._count_held(piece.node, took, hold)
            left -= max(took, 0)
        if left > 0:
            self._rest[piece.node] = self._rest.get(piece.node, 0) + left

    def _before_answer(self, piece: Piece) -> int:
        """Count what a call waited until the loop of the called process turned again."""
        for child in piece.node.children:
            request = self._requests.get(child.segment.segment_id)
            if child.span.kind == "Entry" and request is not None and piece.end <= child.start:
                took = request.take_before(piece.ms)
                self._count_held(request.entry, took, request.hold, before=took)
                return took
        return 0

    def _count_held(self, node: Node, ms: int, hold: Hold | None, before: int = 0) -> None:
        if ms > 0:
            frame = hold.frame if hold else ""
            cause = self._count(Cause("held", node.segment.service, "", "", frame, hold=hold), node, ms)
            cause.before += before
            if is_exit(node):
                cause.inside = cause.inside or f"{call_of(node).name} {node.span.peer}".strip()

    def settle(self) -> None:
        """Count what no held loop had: as calls, and as the time of the code itself."""
        for request in self._requests.values():
            self._settle_held(request)
        own: dict[str, list[Node]] = {}
        for node, ms in self._rest.items():
            if is_exit(node):
                call = call_of(node)
                kind: CauseKind = "way" if answered_by(node) else "call"
                self._count(Cause(kind, call.service, call.name, call.peer), node, ms)
            elif pool_of(node):
                self._count(Cause("pool", node.segment.service, pool_of(node)), node, ms)
            else:
                own.setdefault(node.segment.segment_id, []).append(node)
        for segment, nodes in own.items():
            self._settle_own(nodes, self._requests.get(segment))

    def _settle_held(self, request: Request) -> None:
        """Where no code is known that held the loop, the longest parts of a request are those that waited for it."""
        if request.hold is not None or not request.within:
            return
        nodes = [node for node in self._rest if node.segment is request.entry.segment]
        for node in sorted(nodes, key=lambda each: -self._rest[each]):
            took = request.take_within(self._rest[node])
            self._rest[node] -= took
            self._count_held(node, took, None)

    def _settle_own(self, nodes: Iterable[Node], request: Request | None) -> None:
        ordered = sorted(nodes, key=lambda node: -self._rest[node])
        total = sum(self._rest[node] for node in ordered)
        busy, waited, what = request.own(total) if request else (0, 0, "")
        similar = request.similar if request else None
        for node in ordered:
            took = min(busy, self._rest[node])
            busy -= took
            self._rest[node] -= took
            self._count(Cause("busy", node.segment.service, "", similar=similar), node, took)
            took = min(waited, self._rest[node])
            waited -= took
            self._rest[node] -= took
            kind: CauseKind = "own" if what in IN_THREADS else "lock" if is_lock(what) else "wait"
            self._count(Cause(kind, node.segment.service, what, similar=similar), node, took)
            frame = logged_frame(node, OWN_CODE)
            kind = "own" if frame or (request is not None and request.is_split) else "unsplit"
            own = Cause(kind, node.segment.service, node.span.operation, similar=similar)
            own = self._count(own, node, self._rest[node])
            own.frame = own.frame or frame

    def _count(self, cause: Cause, node: Node, ms: int) -> Cause:
        if ms <= 0:
            return cause
        cause = self.causes.setdefault((cause.kind, cause.service, cause.what, cause.peer, cause.frame), cause)
        cause.ms += ms
        cause.parts[node] = cause.parts.get(node, 0) + ms
        return cause
