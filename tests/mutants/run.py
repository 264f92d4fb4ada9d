"""Which tests kill which mutants: how much a selection of the tests notices.

    make mutants ARGS="--tier test=--tier=test --tier gate=--tier=gate --grouped gate"

`draw.py` draws the mutants. Each goes through the tiers, which are pytest's arguments, until a test fails that passes
without it. A tier is run once to see which tests run which line, and a mutant runs those alone, the likely ones first.

A tier of `--grouped` is too long for that. Some mutants, in different files, run it together, and each of them alone
runs the tests that failed. What is left of a tier after `--limit` seconds of a mutant's tests is run in groups, too.

All is kept in `.cache/mutants`, and a run goes on where it was interrupted. A change of the sources or the tests makes
it stale: remove what is in there.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mutants.copies import Copy
from mutants.draw import FOLDERS, Mutant, draw
from mutants.tiers import Tests, Tier
from suites import ROOT

CACHE = ROOT / ".cache" / "mutants"
_FIRST = 40  # tests, of few modules: most mutants do not live longer, and to collect the others takes its time
_STEADY = 0.05  # seconds: what fails in a test as short as this fails again


class Trial:
    """Mutants go through tiers. What is known of them is a file of JSON lines."""

    def __init__(self, copies: list[Copy], path: Path, end: float, group: int) -> None:
        self._copies, self._path, self._end, self._group = copies, path, end, group
        self._known: dict[tuple[Mutant, str], dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            said = json.loads(line)
            mutant = Mutant(*(said.pop(name) for name in ("path", "operator", "occurrence", "line")))
            self._known[mutant, said["tier"]] = said

    def killer(self, mutant: Mutant, tier: str) -> str | None:
        known: str | None = self._known.get((mutant, tier), {}).get("killed_by")
        return known

    def left(self, mutant: Mutant, tier: str) -> int | None:
        """How many of its tests have not run; None: it did not have its turn."""
        left: int | None = self._known.get((mutant, tier), {}).get("left")
        return left

    def by_lines(self, tier: Tier, mutants: Iterable[Mutant], limit: float) -> None:
        """Let each mutant run what could notice it: alone, and in groups after the limit."""
        tests = {each: tier.tests(each, limit) for each in mutants if self.left(each, tier.name) != 0}

        def one(copy: Copy, mutant: Mutant) -> None:
            begun = time.monotonic()
            killer = _killer(copy, mutant, tier, tests[mutant][0])
            self._note(mutant, tier, killer, 0 if killer else len(tests[mutant][1]), begun)

        self._each([each for each in tests if self.left(each, tier.name) is None], one)
        self.together(tier, {each: rest for each, (_, rest) in tests.items() if self.left(each, tier.name)})

    def together(self, tier: Tier, tests: Mapping[Mutant, Tests | None]) -> None:
        """Let groups of mutants run their tests; None: the whole tier."""

        def one(copy: Copy, group: list[Mutant]) -> None:
            begun = time.monotonic()
            for mutant, killer in _killers(copy, {each: tests[each] for each in group}, tier).items():
                self._note(mutant, tier, killer, 0, begun)

        self._each(_groups(tests, self._group), one)

    def _each(self, jobs: Iterable[Any], work: Callable[[Copy, Any], None]) -> None:
        free: SimpleQueue[Copy] = SimpleQueue()
        for copy in self._copies:
            free.put(copy)

        def one(job: Any) -> None:
            copy = free.get()
            if time.monotonic() < self._end:
                work(copy, job)
            free.put(copy)

        with ThreadPoolExecutor(len(self._copies)) as pool:
            list(pool.map(one, jobs))

    def _note(self, mutant: Mutant, tier: Tier, killer: str | None, left: int, begun: float) -> None:
        seconds = round(time.monotonic() - begun, 1)
        said = {"tier": tier.name, "killed_by": killer, "left": left, "seconds": seconds}
        self._known[mutant, tier.name] = said
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(mutant), **said}) + "\n")
        print(
            f"{mutant.path}:{mutant.line} {mutant.operator}, {tier.name}: {killer or 'none'}, {left} left", flush=True
        )


def _killer(copy: Copy, mutant: Mutant, tier: Tier, tests: Tests) -> str | None:
    """Return the first test that fails with a mutant, and fails again."""
    with copy.changed([mutant]):
        for some in (tests[:_FIRST], tests[_FIRST:]):
            while some:
                run = copy.run([*tier.arguments, "-x"], some, tier.patience(some))
                if run.stopped or not run.failed:
                    break
                killer = run.failed[0]
                is_steady = killer not in some or tier.seconds.get(killer, 1) < _STEADY
                if is_steady or copy.run(tier.arguments, [killer], tier.patience([killer])).failed:
                    return killer
                some = some[some.index(killer) + 1 :]
            if some and run.stopped:
                return run.stopped
    return None


def _killers(copy: Copy, tests: Mapping[Mutant, Tests | None], tier: Tier) -> dict[Mutant, str | None]:
    """Return the same for each mutant of a group."""
    named = [each for each in tests.values() if each is not None]
    union = list(dict.fromkeys(each for one in named for each in one)) if len(named) == len(tests) else None
    with copy.changed(tests):
        run = copy.run(tier.arguments, union, tier.patience(union or ()))
    group = list(tests)
    if run.stopped and len(group) > 1:
        halves = ({each: tests[each] for each in half} for half in (group[::2], group[1::2]))
        return {mutant: killer for half in halves for mutant, killer in _killers(copy, half, tier).items()}
    if run.stopped:
        return {group[0]: run.stopped}

    def suspects(own: Tests | None) -> Tests:
        return [each for each in run.failed if own is None or each in own or "::" not in each]

    return {mutant: _killer(copy, mutant, tier, suspects(own)) for mutant, own in tests.items()}


def _groups(mutants: Iterable[Mutant], size: int) -> list[list[Mutant]]:
    """Return groups of different files, since a change moves what follows it."""
    groups: list[list[Mutant]] = []
    for mutant in mutants:
        fitting = (each for each in groups if len(each) < size and mutant.path not in {one.path for one in each})
        if (group := next(fitting, None)) is None:
            groups.append(group := [])
        group.append(mutant)
    return groups


def _table(trial: Trial, drawn: list[Mutant], tiers: list[str]) -> None:
    print(f"{'':20} mutants  {''.join(f'{tier:>16}' for tier in tiers)}  survived   unknown")
    for folder in [*FOLDERS, ""]:
        here = waiting = [each for each in drawn if each.path.startswith(folder)]
        cells = ""
        for tier in tiers:
            alive = [each for each in waiting if trial.killer(each, tier) is None]
            cells += f"{len(waiting) - len(alive):9} {(len(waiting) - len(alive)) / max(len(here), 1):6.1%}"
            waiting = alive
        unknown = sum(any(trial.left(each, tier) != 0 for tier in tiers) for each in waiting)
        print(f"{folder or 'all':20} {len(here):7}  {cells}  {len(waiting) - unknown:8}  {unknown:8}")


def main() -> None:
    """Draw, run the tiers, and print the table."""
    options = _options()
    os.nice(19)
    CACHE.mkdir(parents=True, exist_ok=True)
    drawn = _drawn(options.count, options.seed)[: options.first]
    copies = [Copy(ROOT, CACHE / str(number)) for number in range(options.workers)]
    trial = Trial(copies, options.results, time.monotonic() + options.minutes * 60, options.group)
    tiers = [
        Tier(name, shlex.split(arguments)) for name, _, arguments in (each.partition("=") for each in options.tier)
    ]
    tried = drawn
    for tier in tiers:
        tried = [each for each in tried if trial.killer(each, tier.name) is None]
        if tier.name in options.grouped:
            trial.together(tier, dict.fromkeys(each for each in tried if trial.left(each, tier.name) is None))
        else:
            tier.measure(copies[0], CACHE)
            trial.by_lines(tier, tried, options.limit)
        tried = [each for each in tried if trial.killer(each, tier.name) is None]
    _table(trial, drawn, [each.name for each in tiers])


def _drawn(count: int, seed: int) -> list[Mutant]:
    path = CACHE / f"drawn-{count}-{seed}.jsonl"
    if not path.exists():
        drawn = draw(ROOT, count, seed)
        path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in drawn), encoding="utf-8")
    return [Mutant(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", action="append", required=True, metavar="NAME=ARGUMENTS", help="may be repeated")
    parser.add_argument("--grouped", nargs="+", default=[], metavar="NAME", help="tiers that mutants run together")
    parser.add_argument("--group", type=int, default=10, help="mutants at once, where they run together")
    parser.add_argument("--count", type=int, default=320)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--first", type=int, metavar="COUNT", help="try only the first ones of the draw")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of tests for a mutant alone")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="begin no mutant later")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=CACHE / "results.jsonl")
    return parser.parse_args()


if __name__ == "__main__":
    main()
