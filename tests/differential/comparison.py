"""Where two observations differ."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from differential.program import Program


class Difference(NamedTuple):
    """One place of an observation.

    :ivar line: the program's line, empty where it is about the whole program
    :ivar place: the way to it
    """

    line: str
    place: str
    bare: str
    agent: str

    def __str__(self) -> str:
        where = self.line or "the whole program"
        return f"  {where}\n    {self.place}\n      bare:  {_short(self.bare)}\n      agent: {_short(self.agent)}"


def compare(program: Program, bare: Any, agent: Any) -> list[Difference]:
    """All places in which the two differ."""
    found = []
    for place, left, right in _differing(bare, agent, ()):
        is_line = len(place) > 1 and place[0] == "lines" and isinstance(place[1], int)
        line = program.lines[place[1]][1] if is_line and place[1] < len(program.lines) else ""
        shown = place[2:] if line else place
        found.append(Difference(line, "/".join(map(str, shown)), _text(left), _text(right)))
    return found


def _differing(bare: Any, agent: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    if isinstance(bare, dict) and isinstance(agent, dict):
        for name in [*bare, *(name for name in agent if name not in bare)]:
            if bare.get(name, _NOTHING) != agent.get(name, _NOTHING):
                yield from _differing(bare.get(name, _NOTHING), agent.get(name, _NOTHING), (*place, name))
    elif isinstance(bare, list) and isinstance(agent, list):
        align = _ALIGNMENTS.get(place, _aligned)
        for index, left, right in align(bare, agent):
            yield from _differing(left, right, (*place, index))
    elif bare != agent:
        yield place, bare, agent


def _side_by_side(bare: list[Any], agent: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    for index, (left, right) in enumerate(zip_longest(bare, agent, fillvalue=_NOTHING)):
        if left != right:
            yield index, left, right


def _unordered(bare: list[Any], agent: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """The items that only one side has, in whatever order they came."""
    left, right = list(bare), list(agent)
    for item in bare:
        if item in right:
            left.remove(item)
            right.remove(item)
    return _side_by_side(left, right)


def _aligned(bare: list[Any], agent: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """The items that differ, side by side: one that only one side has leaves the places of those after it."""
    matcher = SequenceMatcher(None, [*map(repr, bare)], [*map(repr, agent)], autojunk=False)
    for kind, start, stop, other, end in matcher.get_opcodes():
        if kind != "equal":
            pairs = zip_longest(bare[start:stop], agent[other:end], fillvalue=_NOTHING)
            yield from ((start + number, left, right) for number, (left, right) in enumerate(pairs))


_ALIGNMENTS = {
    # a line of the program is compared with itself only
    ("lines",): _side_by_side,
    # sorted; those of one text may name different files
    ("warnings",): _unordered,
    # what was never awaited or closed is reported when the garbage collector finds it
    ("ends",): _unordered,
}
_NOTHING = "(nothing)"
_SHOWN = 1000
"""Characters of an observation."""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _short(text: str) -> str:
    return text if len(text) < _SHOWN else text[:_SHOWN] + "..."
