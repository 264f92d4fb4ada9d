"""`python -m stress compare`: arguments in; tables, plots and the raw rounds out."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from ..choices import some
from ..environments import CACHE
from .contestants import CONTESTANTS, HANDLERS, SHORT
from .figures import summarise
from .order import with_bare
from .report import describe_run, draw, write_report
from .run import Comparison, Plan
from .serving import APP_CORE, LOAD_CORE
from .verdict import (
    find_failures,
    find_losses,
    find_regressions,
    find_unrecorded,
    read_recorded,
    write_recorded,
)
from .wrk import WrkError, find_wrk

_SHARES = {"30": 0.3, "60": 0.6}


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0 when nothing of ours was lost and nothing is below its record; 2 when it cannot run here
    """
    given = _parse(arguments)
    try:
        find_wrk()
        _pin()
    except (WrkError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill cleans up as Ctrl-C does
    folder: Path = given.out or CACHE / "compare" / f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(_plan(given), folder)
    comparison.run()
    violations = _judge(comparison, is_guard=given.short and not given.record)
    figures = summarise(comparison.measurements)
    if given.record and not violations:
        write_recorded(figures)
    text = write_report(folder, comparison, figures, violations)
    if figures and not given.short:
        draw(folder, figures)
    print(text, *describe_run(folder, violations), sep="\n", flush=True)
    return 1 if violations else 0


def _judge(comparison: Comparison, *, is_guard: bool) -> list[str]:
    """The faults of a run, in words. A regression is one when a repetition does not take it back."""
    found: list[str] = []
    if is_guard:
        recorded = read_recorded()
        suspects = find_regressions(summarise(comparison.measurements), recorded)
        if suspects:
            print("again, to be sure:", *suspects.values(), sep="\n", file=sys.stderr, flush=True)
            comparison.repeat(suspects)
        figures = summarise(comparison.measurements)
        found = [*find_regressions(figures, recorded).values(), *find_unrecorded(figures, recorded)]
    return [*find_failures(comparison.failures), *find_losses(comparison.measurements), *found]


def _plan(given: argparse.Namespace) -> Plan:
    return Plan(
        contestants=with_bare(given.contestants or (SHORT if given.short else CONTESTANTS)),
        handlers=given.handlers or (HANDLERS[:2] if given.short else HANDLERS),
        rounds=given.rounds or 3,
        seconds=given.seconds or (2.0 if given.short else 4.0),
        warm_up=1.0,
        shares={} if given.short else _SHARES,
    )


def _pin() -> None:
    """This process and what it starts besides applications: the load, the collectors, the broker."""
    cores = os.sched_getaffinity(0)
    if not {APP_CORE, LOAD_CORE} <= cores:
        raise OSError(f"needs the cores {APP_CORE} and {LOAD_CORE}, and may use {sorted(cores)} only")
    os.sched_setaffinity(0, {LOAD_CORE})


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress compare", description="One application under each agent.")
    parser.add_argument("--contestants", type=some(CONTESTANTS), help=",".join(CONTESTANTS))
    parser.add_argument("--handlers", type=some(HANDLERS), help=",".join(HANDLERS))
    parser.add_argument("--rounds", type=int, help="(3)")
    parser.add_argument("--seconds", type=float, help="of each phase of each visit (4; short: 2)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for tables, plots and raw rounds")
    parser.add_argument("--short", action="store_true", help="few contestants, no rates or plots; judged by the record")
    parser.add_argument("--record", action="store_true", help="write the ratios to stress/recorded.json")
    return parser.parse_args(arguments)
