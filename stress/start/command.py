"""`python -m stress start`: what an agent costs before the first request and between requests.

Each row is started under each peer by turns, round after round, so that a slow minute of the machine hits all alike.
A cell is the median, and the median of what it is more than without an agent in the same round.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median

from ..choices import some
from ..cost.counter import refuse_without_tools
from ..environments import version_of
from ..machine import describe_machine
from ..markdown import make_table
from .instructions import CountedStarts
from .measuring import AT_REST, COUNTED, GUARDED, ROWS, UNITS, Measure, Starts, Waits
from .peers import PEERS
from .process import StartError
from .verdict import AGENT, BARE, RECORDED, Figures, guard

_OTHERS = ("official", "otel")
"""Agents that may fail where ours does not: their row goes on without them."""


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0; 1 when a start takes more than was recorded; 2 when CI cannot count
    :raises SetupError: an environment cannot be made
    """
    given = _parse(arguments)
    if given.short or given.record:
        given.count, given.peers = True, [AGENT]
    if given.count and (refused := refuse_without_tools("start")) is not None:
        return refused
    # the others are compared with it
    names = [name for name in PEERS if name in (BARE, *given.peers)]
    with ExitStack() as stack:
        waits = Waits(given.wait, given.idle)
        starts = Starts(stack, waits, given.python)
        if given.count:
            rows = {title: ROWS[title] for title in (GUARDED if given.short or given.record else COUNTED)}
            figures = _measure(CountedStarts(stack, waits, given.python), starts, rows, names, rounds=1)
        else:
            figures = _measure(starts, starts, ROWS, names, given.rounds)
    print(describe_machine(), f"Started: Python {version_of(given.python)}", sep="\n", end="\n\n")
    print(make_table(("", *names), rows_of(figures, names)))
    return guard(figures, is_new=given.record) if given.short or given.record else 0


def _measure(
    starts: Starts, warm_up: Starts, rows: Mapping[str, Measure], names: Sequence[str], rounds: int
) -> Figures:
    figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for title, measure in rows.items():
        for number in range(rounds):
            for name in names:
                try:
                    if number == 0 and title != AT_REST:
                        measure(warm_up, PEERS[name])  # fills the caches: of files, and of compiled modules
                    found = measure(starts, PEERS[name])
                except StartError as error:
                    if name not in _OTHERS:
                        raise
                    print(f"{title}: {name} fails: {error}", file=sys.stderr, flush=True)
                    continue
                for unit, value in found.items():
                    figures[f"{title}, {UNITS[unit]}"][name].append(value)
                    print(f"{title}, {UNITS[unit]}: {name} {value:.4g}", file=sys.stderr, flush=True)
    return figures


def rows_of(figures: Figures, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The table's cells: the median, and the median of the differences from the round's bare process."""
    return [(title, *(_cell(found[name], found["bare"]) for name in names)) for title, found in figures.items()]


def _cell(values: Sequence[float], bare: Sequence[float]) -> str:
    if len(values) < len(bare):  # another agent that does not start so
        return "fails"
    more = median(value - without for value, without in zip(values, bare, strict=True))
    middle = median(values)
    digits = 2 if middle < 10 else 0
    return f"{middle:.{digits}f}" + (f" (+{more:.{digits}f})" if values is not bare else "")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress start", description=__doc__)
    parser.add_argument("--peers", type=some(PEERS), default=list(PEERS), help="with commas between them (all)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that is started (this one)")
    parser.add_argument("--rounds", type=int, default=7, help="of each row (%(default)s)")
    parser.add_argument("--wait", type=float, default=15, help="seconds before a server is at rest (%(default)s)")
    parser.add_argument("--idle", type=float, default=30, help="seconds for which it is looked at (%(default)s)")
    parser.add_argument("--count", action="store_true", help="the instructions of starts, in place of all times")
    parser.add_argument("--short", action="store_true", help="count without others' agents, and judge by the record")
    parser.add_argument("--record", action="store_true", help=f"count, and write the numbers to stress/{RECORDED.name}")
    given = parser.parse_args(arguments)
    if (given.short or given.record) and given.python != sys.executable:
        parser.error("the record is of this Python: --python does not go with --short and --record")
    return given
