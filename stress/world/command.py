"""`python -m stress world`: arguments in; the seeds that failed, or the table of the planted faults, out."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from .mutations import MUTATIONS
from .plan import Plan, draw_plan
from .run import Outcome, run_plan
from .shrink import shrink
from .table import hunt, render_table

_MOST_SHOWN = 5
_CHUNK = 8


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0 when nothing was violated, or every planted fault was found
    """
    given = _parse(arguments)
    if given.seed is not None:
        return _show(draw_plan(given.seed, given.minutes), is_verbose=given.verbose, shrinks=not given.whole)
    if given.mutations is not None:
        names = given.mutations or sorted(MUTATIONS)
        found = hunt(names, range(given.first, given.first + given.seeds), given.minutes, given.jobs)
        print(render_table(found))
        return 0 if all(each.seeds for each in found) else 1
    return _search(range(given.first, given.first + given.seeds), given.minutes, given.jobs)


def _search(seeds: Sequence[int], minutes: float, jobs: int) -> int:
    """Run many seeds."""
    began, virtual, count, records = time.monotonic(), 0.0, 0, 0
    failed: list[Outcome] = []
    for outcome in run_seeds(seeds, minutes, jobs):
        count, records = count + 1, records + outcome.records
        virtual += outcome.seconds
        if outcome.violation:
            failed.append(outcome)
            print(f"seed {outcome.plan.seed} failed: {outcome.violation}", flush=True)
            if len(failed) >= _MOST_SHOWN:
                break
    seconds = time.monotonic() - began
    print(f"{count} seeds, {virtual / 3600:.1f} hours of virtual time, {records} records, in {seconds:.0f} s:", end=" ")
    print(f"{len(failed)} failed")
    for outcome in failed[:1]:
        _show(outcome.plan, is_verbose=False, shrinks=True)
    return 1 if failed else 0


def run_seeds(seeds: Sequence[int], minutes: float, jobs: int) -> Iterator[Outcome]:
    """Run seeds in processes of their own, and give their outcomes in order."""
    run = partial(_run_seed, minutes=minutes)
    if jobs == 1:
        yield from map(run, seeds)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(run, seeds, chunksize=_CHUNK)
        finally:
            pool.shutdown(cancel_futures=True)


def _run_seed(seed: int, minutes: float) -> Outcome:
    return run_plan(draw_plan(seed, minutes))


def _show(plan: Plan, *, is_verbose: bool, shrinks: bool) -> int:
    """Run one seed, and if it fails, show the fewest faults with which it does."""
    print(plan, flush=True)
    outcome = run_plan(plan, is_verbose=is_verbose)
    print(f"digest {outcome.digest}, {outcome.lines} lines, {outcome.records} records")
    if not outcome.violation:
        return 0
    print(f"failed: {outcome.violation}")
    kind = _kind_of(outcome)
    if shrinks and plan.faults:
        smaller = shrink(plan, lambda each: _kind_of(run_plan(each)) == kind)
        print(f"fails as well with {len(smaller.faults)} of {len(plan.faults)} faults:", *smaller.faults, sep="\n")
    print(f"again: python -m stress world --seed {plan.seed} --verbose")
    return 1


def _kind_of(outcome: Outcome) -> str:
    """What failed, without its numbers."""
    return "".join(each for each in outcome.violation.split(":")[0] if not each.isdigit())


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress world", description="The agent in a simulated world.")
    parser.add_argument("--seeds", type=int, default=1000, help="how many (%(default)d)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (%(default)d)")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--verbose", action="store_true", help="with --seed: print its history")
    parser.add_argument("--whole", action="store_true", help="with --seed: do not look for fewer faults that fail too")
    parser.add_argument("--minutes", type=float, default=5.0, help="of faults, in virtual time (%(default)g)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)d)")
    parser.add_argument(
        "--mutations", nargs="*", choices=sorted(MUTATIONS), metavar="NAME", help="plant faults, and see them found"
    )
    return parser.parse_args(arguments)
