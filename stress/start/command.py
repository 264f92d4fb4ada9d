"""`python -m stress start`: what an agent costs before the first request and between requests.

Each row is started under each peer by turns, round after round, so that a slow minute of the machine hits all alike.
A cell is the median, and the median of what it is more than without an agent in the same round.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median

from ..choices import some
from ..machine import describe_machine
from ..markdown import make_table
from .measuring import AT_REST, ROWS, UNITS, Starts, Waits
from .peers import PEERS

Figures = Mapping[str, Mapping[str, Sequence[float]]]
"""By row with its unit, and by peer: a number of each round."""


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0
    :raises SetupError: an environment cannot be made
    """
    given = _parse(arguments)
    # the others are compared with it
    names = [name for name in PEERS if name in ("bare", *given.peers)]
    with ExitStack() as stack:
        starts = Starts(stack, Waits(given.wait, given.idle))
        figures = _measure(starts, names, given.rounds)
    print(describe_machine(), end="\n\n")
    print(make_table(("", *names), rows_of(figures, names)))
    return 0


def _measure(starts: Starts, names: Sequence[str], rounds: int) -> Figures:
    figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for title, measure in ROWS.items():
        for number in range(rounds):
            for name in names:
                if number == 0 and title != AT_REST:
                    measure(starts, PEERS[name])  # fills the caches: of files, and of compiled modules
                for unit, value in measure(starts, PEERS[name]).items():
                    figures[f"{title}, {UNITS[unit]}"][name].append(value)
    return figures


def rows_of(figures: Figures, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The table's cells: the median, and the median of the differences from the round's bare process."""
    return [(title, *(_cell(found[name], found["bare"]) for name in names)) for title, found in figures.items()]


def _cell(values: Sequence[float], bare: Sequence[float]) -> str:
    more = median(value - without for value, without in zip(values, bare, strict=True))
    middle = median(values)
    digits = 2 if middle < 10 else 0
    return f"{middle:.{digits}f}" + (f" (+{more:.{digits}f})" if values is not bare else "")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress start", description=__doc__)
    parser.add_argument("--peers", type=some(PEERS), default=list(PEERS), help="with commas between them (all)")
    parser.add_argument("--rounds", type=int, default=7, help="of each row (%(default)s)")
    parser.add_argument("--wait", type=float, default=15, help="seconds before a server is at rest (%(default)s)")
    parser.add_argument("--idle", type=float, default=30, help="seconds for which it is looked at (%(default)s)")
    return parser.parse_args(arguments)
