"""Merges the stacks of a profile into trees, one for each first line: how often and how long each call was seen.

A stack counts for the time until the next one of the same task or thread: those two have numbers that follow each
other. So the times of the calls below one add up to its own. An OAP counts otherwise: a call's run of stacks from its
first to its last, so each run loses a period, and what is seen once has taken no time. Its number is shown beside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from .frames import is_beside, is_library, shared_name, state_of

Answer = dict[str, Any]
MAX_NODES = 4_000
"""Calls in an answer; the rarest of more are left out."""
MAX_GROWN = 20_000
"""Calls that are distinguished at all."""


class Look(NamedTuple):
    """A stack, the outermost call first; `time` in milliseconds since the epoch."""

    number: int
    time: int
    stack: tuple[str, ...]


class Node:
    """One call, on one way to it.

    :ivar turn: when it was seen last; turns of stacks whose numbers follow each other do so too
    """

    __slots__ = ("children", "count", "ms", "name", "oap_ms", "turn")

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.ms = 0
        self.oap_ms = 0
        self.children: dict[str, Node] = {}
        self.turn = 0

    def answer(self, depth: int) -> Answer:
        """The call as the API has it."""
        below = sum(child.ms for child in self.children.values())
        return {
            "depth": depth,
            "name": self.name,
            "state": state_of(self.name),
            "library": is_library(self.name),
            "beside": not depth and is_beside(self.name),
            "count": self.count,
            "ms": self.ms,
            "self_ms": self.ms - below,
            "oap_ms": self.oap_ms,
        }


class StackTree:
    """The trees of some segments, which are added one after the other."""

    def __init__(self) -> None:
        self.roots: dict[str, Node] = {}
        self._grown = self._cut = 0
        self._turn = 1
        self._path: list[Node] = []
        self._last: Look | None = None

    def begin_segment(self) -> None:
        """Begin with another segment, which has numbers of its own."""
        self._last = None

    def add(self, look: Look) -> None:
        """Add the next stack of the segment, in the order of their numbers."""
        took = self._begin_turn(look)
        turn, level, path = self._turn, self.roots, list[Node]()
        for name in (*map(shared_name, look.stack[:1]), *look.stack[1:]):
            node = level.get(name) or self._grow(name, level)
            if node is None:
                break
            node.count += 1
            if node.turn == turn - 1:
                node.oap_ms += took
            node.turn = turn
            path.append(node)
            level = node.children
        self._path = path

    def _begin_turn(self, look: Look) -> int:
        """Add the duration of the last stack to its calls; returns it in milliseconds."""
        last, self._last = self._last, look
        self._turn += 1
        if last is None or look.number != last.number + 1:
            self._turn += 1
            return 0
        took = max(look.time - last.time, 0)
        for node in self._path:
            node.ms += took
        return took

    def _grow(self, name: str, level: dict[str, Node]) -> Node | None:
        """None: there are too many."""
        if self._grown >= MAX_GROWN:
            self._cut += 1
            return None
        self._grown += 1
        level[name] = Node(name)
        return level[name]

    def answers(self) -> tuple[list[Answer], int]:
        """The calls, each before those that it made, the longest first; and how many are left out."""
        found: list[tuple[int, Node]] = []
        counts: Counter[int] = Counter()
        waiting = [(0, node) for node in _longest_last(self.roots.values())]
        while waiting:
            depth, node = waiting.pop()
            found.append((depth, node))
            counts[node.count] += 1
            waiting += [(depth + 1, child) for child in _longest_last(node.children.values())]
        least, kept = _least(counts), list[Answer]()
        for depth, node in found:
            if node.count >= least:
                kept.append(node.answer(depth))
        return kept, len(found) - len(kept) + self._cut


def _least(counts: Counter[int]) -> int:
    """How often a call was seen that is shown. Its caller was seen as often, at least: no gap comes of it."""
    shown = 0
    for count in sorted(counts, reverse=True):
        shown += counts[count]
        if shown > MAX_NODES:
            return count + 1
    return 0


def _longest_last(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (node.ms, node.count))
