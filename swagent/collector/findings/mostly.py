"""Where most of a trace's time went, in a few words, for a list; pure."""

from __future__ import annotations

from typing import NamedTuple

from ..api.node import Node
from .calls import answered_by
from .causes import Cause, CauseKind, causes
from .holds import holds_of
from .joining import Joined


class Mostly(NamedTuple):
    """The cause that had most of a critical path.

    :ivar share: of the path, between 0 and 1
    """

    kind: CauseKind
    text: str
    share: float


def mostly(trace: Joined) -> Mostly | None:
    """The cause that had most of a trace, by its own spans: no baseline is asked for, and no other trace. None where it
    took less than a millisecond."""
    found = causes(trace.path, [hold for segment in trace.segments for hold in holds_of(segment)])
    took = sum(piece.ms for piece in trace.path)
    if not found or not took:
        return None
    return Mostly(found[0].kind, _words(found[0], trace.head), round(found[0].ms / took, 4))


def _words(cause: Cause, head: Node) -> str:
    other = "" if cause.service == head.segment.service else f" of {cause.service}"
    if cause.kind == "call":
        return f"{cause.service} → {cause.peer or cause.what}"
    if cause.kind == "way":
        return f"the way {cause.service} → {answered_by(cause.node)}"
    if cause.kind in ("wait", "lock"):
        return f"awaited {cause.what}"
    words = {
        "own": "own code",
        "unsplit": "own code or a wait",
        "holding": "blocked loop",
        "held": "blocked loop",
        "busy": "busy loop",
    }
    return words.get(cause.kind, cause.what) + other
