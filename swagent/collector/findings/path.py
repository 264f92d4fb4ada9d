"""The critical path: the chain of spans that determined when a request ended; pure.

Spans do not say which of them waited for which. So the walk goes from the request's end backwards: of a span's
children, the one that ended last is what it waited for; before that one began, the one that ended last before, and so
on. Time that no child covers is the span's own. The page's `critical_path.js` does the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ..api.node import Node

_ROUNDING = 1  # times are whole milliseconds
_MOST_OUTLIVED = 50  # levels: a chain of thousands that each outlive the one above must not take long


class Piece(NamedTuple):
    """A piece of the path, and the span that had it."""

    node: Node
    start: int
    end: int

    @property
    def ms(self) -> int:
        """How long it is."""
        return self.end - self.start


@dataclass
class _Place:
    node: Node
    cursor: int
    began: frozenset[Node]
    next: int = 0


def critical_path(head: Node) -> list[Piece]:
    """The pieces of the path from a request's begin to its end, in order."""
    children, starters = _awaited(head)
    pieces: list[Piece] = []
    open_ = [_Place(head, head.end, frozenset())]
    while open_:  # not recursive: a trace may be deep
        place = open_[-1]
        child = _last_before(children.get(place.node, []), place)
        if child is None:
            _add(pieces, place.node, place.node.start, place.cursor)
            open_.pop()
            continue
        end = min(child.end, place.cursor)
        _add(pieces, place.node, end, place.cursor)
        place.cursor = max(child.start, place.node.start)
        open_.append(_Place(child, end, place.began))
        place.began = starters.get(child, place.began)
    pieces.sort(key=lambda piece: piece.start)
    return pieces


def _add(pieces: list[Piece], node: Node, start: int, end: int) -> None:
    if end > start:
        pieces.append(Piece(node, start, end))


def _last_before(candidates: list[Node], place: _Place) -> Node | None:
    """The child that the span waited for before a moment."""
    while place.next < len(candidates):
        child = candidates[place.next]
        place.next += 1
        if (
            child.start < place.cursor
            and child.end > place.node.start
            and (child.end <= place.cursor + _ROUNDING or is_answer(child, place.node) or child in place.began)
        ):
            return child
    return None


def is_answer(child: Node, parent: Node) -> bool:
    """Whether a span is the work for the answer to a call. Who answered may end later than the call."""
    return parent.span.kind == "Exit" and child.span.kind == "Entry" and child.span.layer != "MQ"


def _awaited(head: Node) -> tuple[dict[Node, list[Node]], dict[Node, frozenset[Node]]]:
    """Of each span those that it may have waited for, the last to end first; and who began those that outlived their
    parents: a task that was not awaited there belongs to the nearest span above that ends after it."""
    children: dict[Node, list[Node]] = {}
    starters: dict[Node, frozenset[Node]] = {}
    for node in _below(head):
        if node.span.kind == "Entry" and node.span.layer == "MQ":
            continue  # its producer does not wait for it
        parent, outlived = node.parent, set[Node]()
        while parent is not None and node.end > parent.end + _ROUNDING and not is_answer(node, parent):
            outlived.add(parent)
            parent = parent.parent if len(outlived) < _MOST_OUTLIVED else None
        if parent is not None:
            if outlived:
                starters[node] = frozenset(outlived)
            children.setdefault(parent, []).append(node)
    for each in children.values():
        each.sort(key=lambda node: (-node.end, -node.start))
    return children, starters


def _below(head: Node) -> Iterable[Node]:
    waiting = list(head.children)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children
