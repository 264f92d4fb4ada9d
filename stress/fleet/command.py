"""`python -m stress fleet`: arguments in, a table out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from ..choices import some
from ..markdown import make_table
from .scenario import SCENARIOS, Outcome, run


@dataclass(frozen=True)
class Cell:
    """One run."""

    scenario: str
    agents: int
    collectors: int
    age: float
    seed: int
    rate: float
    has_balancer: bool

    def run(self) -> Outcome:
        """Run it."""
        return run(
            SCENARIOS[self.scenario], self.agents, self.collectors, self.age,
            seed=self.seed, rate=self.rate, has_balancer=self.has_balancer,
        )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run it."""
    given = _parse(arguments)
    cells = [
        Cell(scenario, given.agents, collectors, age, given.seed, given.rate, given.balancer)
        for scenario in given.scenarios
        for collectors in given.collectors
        for age in given.ages
    ]
    print(render(cells, run_cells(cells, given.jobs)))
    return 0


def run_cells(cells: Sequence[Cell], jobs: int) -> list[Outcome]:
    """Run them, in processes of their own where there are several jobs."""
    if jobs == 1:
        return [each.run() for each in cells]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(Cell.run, cells))


def render(cells: Sequence[Cell], outcomes: Sequence[Outcome]) -> str:
    """The table, in Markdown."""
    rows = [_row(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)]
    return make_table(_HEADS, rows)


_HEADS = (
    "scenario", "collectors", "age", "busiest second", "above the mean", "all back after", "without one",
    "apart", "refused calls", "made at rest",
)  # fmt: skip


def _row(cell: Cell, outcome: Outcome) -> list[str]:
    worst = outcome.worst
    return [
        cell.scenario,
        str(cell.collectors),
        f"{cell.age:g} s" if cell.age else "none",
        f"{worst.peak}" if worst else "",
        f"{worst.ratio:.1f} times" if worst else "",
        f"{outcome.longest:.1f} s",
        f"{outcome.away}",
        f"{100 * outcome.apart:.0f} %",
        f"{outcome.refusals}",
        f"{outcome.at_rest:.0f}/s",
    ]


def _numbers(kind: type[int | float], text: str) -> list[float]:
    return [kind(each) for each in text.split(",")]


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress fleet", description="Many agents, and few collectors.")
    parser.add_argument("--agents", type=int, default=10_000, help="how many (%(default)d)")
    parser.add_argument(
        "--collectors", type=lambda text: _numbers(int, text), default=[3], help="how many, several with commas (3)"
    )
    parser.add_argument(
        "--ages", type=lambda text: _numbers(float, text), default=[0.0, 240.0],
        help="seconds that a connection lasts at most, several with commas; 0: it stays",
    )  # fmt: skip
    parser.add_argument("--scenarios", type=some(SCENARIOS), default=[*SCENARIOS], help=", ".join(SCENARIOS))
    parser.add_argument(
        "--rate", type=float, default=1000.0, help="connections a collector takes a second (%(default)g)"
    )
    parser.add_argument("--balancer", action="store_true", help="the name has one address, of a balancer")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)d)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)d)")
    return parser.parse_args(arguments)
