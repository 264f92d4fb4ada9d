"""Merges the stacks of a profile into trees, one for each first line: how often and how long each call was seen.

A stack counts for the time until the next one of the same task or thread: those two have numbers that follow each
other. So the times of the calls below one add up to its own. An OAP counts otherwise: a call's run of stacks from its
first to its last, so each run loses a period, and what is seen once has taken no time. Its number stands beside.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from heapq import nlargest
from typing import Any, NamedTuple

from .frames import is_beside, is_library, shared_name, state_of

Answer = dict[str, Any]
MAX_NODES = 4_000
"""Calls in an answer; the rarest of more are left out."""


class Look(NamedTuple):
    """A stack, the outermost call first; `time` in milliseconds since the epoch."""

    number: int
    time: int
    stack: tuple[str, ...]


class Node:
    """One call, on one way to it."""

    __slots__ = ("children", "count", "last", "ms", "name", "oap_ms")

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.ms = 0
        self.oap_ms = 0
        self.children: dict[str, Node] = {}
        self.last: Look | None = None

    def see(self, look: Look) -> None:
        """It is in a stack."""
        if _follows(look, self.last):
            self.oap_ms += _between(self.last, look)
        self.last = look
        self.count += 1

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
        self._path: list[Node] = []
        self._last: Look | None = None

    def begin_segment(self) -> None:
        """What comes next is of another segment, which has numbers of its own."""
        self._last = None
        waiting = [*self.roots.values()]
        while waiting:
            node = waiting.pop()
            node.last = None
            waiting += node.children.values()

    def add(self, look: Look) -> None:
        """Add the next stack of the segment, in the order of their numbers."""
        if _follows(look, self._last):
            took = _between(self._last, look)
            for node in self._path:
                node.ms += took
        self._last, self._path = look, []
        level = self.roots
        for name in (*map(shared_name, look.stack[:1]), *look.stack[1:]):
            if name not in level:
                level[name] = Node(name)
            node = level[name]
            node.see(look)
            self._path.append(node)
            level = node.children

    def answering(self) -> Generator[None, None, tuple[list[Answer], int]]:
        """The calls, each before those that it made, the longest first; and how many are left out. Step by step."""
        found: list[tuple[int, Node]] = []
        waiting = [(0, node) for node in _longest_last(self.roots.values())]
        while waiting:
            depth, node = waiting.pop()
            found.append((depth, node))
            waiting += [(depth + 1, child) for child in _longest_last(node.children.values())]
            yield
        least = 0
        if len(found) > MAX_NODES:  # a caller is seen as often as those whom it calls, at least: no gap comes of it
            least = nlargest(MAX_NODES + 1, (node.count for _, node in found))[-1] + 1
        kept = [node.answer(depth) for depth, node in found if node.count >= least]
        return kept, len(found) - len(kept)


def _follows(look: Look, last: Look | None) -> bool:
    return last is not None and look.number == last.number + 1


def _between(last: Look | None, look: Look) -> int:
    return max(look.time - last.time, 0) if last is not None else 0


def _longest_last(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (node.ms, node.count))
