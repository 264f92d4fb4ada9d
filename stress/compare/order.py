"""In which order the contestants are visited: by turns, so that a slow minute of the machine hits all alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from .contestants import CONTESTANTS, Contestant

_ENOUGH = 4


def with_bare(names: Iterable[str]) -> list[Contestant]:
    """The named contestants and what they are compared with, in the order of the table."""
    asked = set(names)
    needed = asked | {CONTESTANTS[name].bare for name in asked}
    return [each for name, each in CONTESTANTS.items() if name in needed]


def order_round(contestants: Sequence[Contestant], number: int) -> list[Contestant]:
    """One round: those without an agent first, the others in an order of this round's own, and in the midst of them
    those without an agent again where there are enough others.

    :param number: of the round; the same number gives the same order
    """
    bare = [each for each in contestants if each.agent == "bare"]
    others = [each for each in contestants if each.agent != "bare"]
    Random(number).shuffle(others)
    middle = len(others) // 2
    again = [each for each in bare if sum(other.bare == each.name for other in others) >= _ENOUGH]
    return [*bare, *others[:middle], *again, *others[middle:]]
