"""The culprit of a trace: the cause on its critical path that took most longer than it does usually; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..api.node import Node
from .baselines import Usual
from .calls import is_exit
from .causes import Cause
from .durations import Operation, operation_of
from .finding import Baseline
from .path import Piece
from .requests import entry_of

SLOW_MS, SLOW_FACTOR = 25, 1.7
"""A trace is slow that took so much longer than its operation does usually, in milliseconds and as a factor."""
_WITHOUT_BASELINE = 1000
"""Milliseconds from which a trace is slow of whose operation there are no other calls."""
_SMALL = 0.05
"""The share of a path below which a cause is none for the whole."""


class Suspect(NamedTuple):
    """A cause, and how it compares.

    :ivar excess: milliseconds that it took more than usual
    :ivar baseline: of its operation; of own code, of the request that it is part of
    """

    cause: Cause
    excess: int
    baseline: Baseline | None


class Verdict(NamedTuple):
    """The verdict on a trace as a whole.

    :ivar took: milliseconds of its critical path
    :ivar excess: how many of these are more than usual
    :ivar is_slow: whether it took longer than its operation does usually
    """

    suspects: list[Suspect]
    took: int
    excess: int
    is_slow: bool


def operations_of(path: Sequence[Piece]) -> list[Operation]:
    """The operations whose baselines are needed to judge a path, the longest first."""
    spans = sorted(spans_on(path), key=lambda node: node.start - node.end)
    return list(dict.fromkeys(operation_of(node) for node in spans if node.span.kind in ("Entry", "Exit")))


def spans_on(path: Sequence[Piece]) -> list[Node]:
    """The spans that a path passes through: those with a piece of it, and those around them."""
    found: dict[Node, None] = {}
    for piece in path:
        node: Node | None = piece.node
        while node is not None and node not in found:
            found[node] = None
            node = node.parent
    return list(found)


def judge(head: Node, path: Sequence[Piece], causes: Sequence[Cause], usual: Usual) -> Verdict:
    """Compare the causes of a path with the usual; the first suspect is the culprit."""
    took = sum(piece.ms for piece in path)
    known = usual.get(operation_of(head)) if head.span.kind in ("Entry", "Exit") else None
    excess = max(took - known.p50, 0) if known else 0
    is_slow = took >= _WITHOUT_BASELINE if known is None else excess >= max(SLOW_MS, (SLOW_FACTOR - 1) * known.p50)
    own = _own_usual(path, usual)
    suspects = [_suspect(each, usual, own) for each in causes if each.ms >= took * _SMALL]
    by_excess = is_slow and known is not None
    suspects.sort(key=lambda each: (each.excess if by_excess else each.cause.ms, each.cause.ms), reverse=True)
    return Verdict(suspects, took, excess, is_slow)


def _suspect(cause: Cause, usual: Usual, own: dict[Node, int]) -> Suspect:
    node = cause.node
    if cause.kind == "call":
        baseline = usual.get(operation_of(node))
        expected = baseline.p50 * len(cause.parts) if baseline else 0
        return Suspect(cause, max(cause.ms - expected, 0), baseline)
    if cause.kind == "way":
        baseline = usual.get(operation_of(node))
        served = [usual.get(operation_of(child)) for child in node.children if child.span.kind == "Entry"]
        expected = max(baseline.p50 - sum(each.p50 for each in served if each), 0) if baseline else 0
        return Suspect(cause, max(cause.ms - expected * len(cause.parts), 0), baseline)
    entry = entry_of(node)
    baseline = usual.get(operation_of(entry)) if entry is not None else None
    expected = own.get(entry, 0) if entry is not None and cause.kind in ("own", "unsplit", "wait", "lock") else 0
    return Suspect(cause, max(cause.ms - expected, 0), baseline)


def _own_usual(path: Sequence[Piece], usual: Usual) -> dict[Node, int]:
    """Of each request on a path the milliseconds that it takes usually beside the calls that it made this time."""
    left: dict[Node, int] = {}
    nodes = spans_on(path)
    for node in nodes:
        baseline = usual.get(operation_of(node)) if node.span.kind == "Entry" else None
        if baseline is not None:
            left[node] = baseline.p50
    for node in filter(is_exit, nodes):
        entry, baseline = entry_of(node), usual.get(operation_of(node))
        if entry in left and baseline is not None:
            left[entry] = max(left[entry] - baseline.p50, 0)
    return left
