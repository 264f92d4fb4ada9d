"""`python -m stress calls`: arguments in, a table out.

The calls themselves do nothing, so that what is measured is the agent's part: processor time of one thread, the
quickest of several rounds, since another process's noise only ever adds. The segments are taken and thrown away.
"""

from __future__ import annotations

import argparse

from stress.machine import describe_machine

from .cases import CASES
from .measuring import measure


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0 when nothing costs more than it may, by a margin for the machine's noise
    """
    given = _parse(arguments)
    print(describe_machine(), end="\n\n")
    print("| a call | us | at most |\n| --- | --- | --- |")
    is_kept = True
    for case in CASES:
        micros = measure(case.call, given.rounds, given.calls)
        limit = "" if case.limit is None else f"{case.limit:g}"
        print(f"| {case.name} | {micros:.2f} | {limit} |", flush=True)
        is_kept = is_kept and (case.limit is None or micros <= case.limit * given.margin)
    return 0 if is_kept else 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress calls", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="of which the quickest counts (%(default)s)")
    parser.add_argument("--calls", type=int, default=20_000, help="a round (%(default)s)")
    parser.add_argument("--margin", type=float, default=1.5, help="how much more a call may cost here (%(default)s)")
    return parser.parse_args(arguments)
