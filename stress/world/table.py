"""Which of the planted faults the world finds, and after how many seeds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from .mutations import MUTATIONS
from .plan import CELLS, draw_plan
from .run import run_plan


@dataclass(frozen=True)
class Found:
    """What became of one planted fault.

    :ivar seeds: how many were run until one failed; 0: none did
    :ivar violation: by which it was found
    """

    name: str
    seeds: int
    seed: int
    violation: str


def hunt(names: Sequence[str], seeds: Sequence[int], minutes: float, jobs: int) -> list[Found]:
    """Plant each fault, and run seeds until one fails."""
    look = partial(_find, seeds=seeds, minutes=minutes)
    if jobs == 1:
        return [look(name) for name in names]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(look, name) for name in names]
        for future in as_completed(running):
            each = future.result()
            print(f"{each.name}: {each.violation.splitlines()[0] if each.seeds else 'not found'}", flush=True)
        return [future.result() for future in running]


def render_table(found: Sequence[Found]) -> str:
    """The table, in Markdown."""
    rows = [f"| {each.name} | {each.seeds or 'not found'} | {_brief(each.violation)} |" for each in found]
    return "\n".join(["| planted fault | seeds until it was found | by |", "| --- | ---: | --- |", *rows])


def _find(name: str, seeds: Sequence[int], minutes: float) -> Found:
    # a fault of one transport is looked for where that one runs, and one of the spill where there is a disk
    where, _, _ = name.rpartition(": ")
    plans = [draw_plan(seed, minutes, [cell for cell in CELLS if where in ("", "spill", cell[1])]) for seed in seeds]
    for count, plan in enumerate((each for each in plans if where != "spill" or each.disk is not None), 1):
        with MUTATIONS[name].in_force():
            outcome = run_plan(plan)
        if outcome.violation:
            return Found(name, count, plan.seed, outcome.violation)
    return Found(name, 0, -1, "")


def _brief(violation: str) -> str:
    """Its first line, and not its details."""
    return violation.splitlines()[0].split(": <")[0][:110].replace("|", "/") if violation else ""
