"""`python -m stress cost`: how many instructions a request takes, bare and with the agent.

Users pay with time, but on a shared machine a time is not exact to ten percent. A number of instructions is exact to
half a percent, and with several layouts of memory (see `layouts`) to less. So CI judges instructions, and the docs show
the ratios of `stress compare`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from ..choices import some
from ..compare.environments import Environment, prepare
from ..compare.sinks import Collector
from ..environments import CACHE
from ..machine import describe_machine
from .counter import build_counter, refuse_without_tools
from .figures import Count, CountError, Counts, render
from .implementation import ACCELERATOR, CHOICES, PYTHON, TITLES, build_accelerator
from .layouts import count_again
from .measuring import measure
from .requests import CASES, SHORT
from .stages import BARE, STAGES, WHOLE
from .verdict import Recorded, find_suspects, judge, read_recorded, write_recorded

# Python alone splits the time of one request in a hundred by default, which a count of few requests cannot show.
_SPLITS = {PYTHON: 0, ACCELERATOR: 1}
# The median block counts. What is recorded comes from more, and what seems to be a regression is counted again.
_BLOCKS, _FEW_BLOCKS = 5, 3


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0; 1 when the agent takes more than was recorded, or a count is void; 2 when CI cannot count
    """
    given = _parse(arguments)
    if (refused := refuse_without_tools("cost")) is not None:
        return refused
    cases = given.cases or (SHORT if given.short else tuple(CASES))
    stages = (BARE, WHOLE) if given.short else tuple(STAGES)
    status = 0
    for implementation in CHOICES[given.native]:
        recorded = read_recorded(implementation=implementation)
        try:
            counts = _count_surely(given, implementation, stages, cases, recorded)
        except CountError as error:
            print(error, file=sys.stderr)
            return 1
        print(TITLES[implementation], render(counts), describe_machine(), sep="\n\n", flush=True)
        if given.record:
            write_recorded(counts, implementation=implementation)
        else:
            status = status or judge(counts, recorded, is_guard=given.short)
    return status


def _count_surely(
    given: argparse.Namespace, implementation: str, stages: Sequence[str], cases: Sequence[str], recorded: Recorded
) -> Counts:
    """With one layout of memory, or with several where something is recorded or seems to be a regression."""
    split = _SPLITS[implementation] if given.split is None else given.split
    blocks = given.blocks or (_FEW_BLOCKS if given.short else _BLOCKS)

    def count(some_cases: Sequence[str], layout: int) -> Counts:
        return count_all(stages, some_cases, blocks, given.jobs, split, implementation, layout)

    def suspect(counts: Counts) -> Sequence[str]:
        if given.record:
            return cases
        return find_suspects(counts, recorded) if given.short else ()

    return count_again(count(cases, 0), count, suspect)


def count_all(
    stages: Sequence[str],
    cases: Sequence[str],
    blocks: int,
    jobs: int,
    split: int = 1,
    implementation: str = PYTHON,
    layout: int = 0,
) -> Counts:
    """Count each case at each stage, several stages at once: neighbours take time, and no instructions."""
    python, library = prepare(Environment.SWAGENT), build_counter()
    accelerator = build_accelerator(python) if implementation == ACCELERATOR else None
    (CACHE / "cost").mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        address = Collector("grpc", stack).address
        room = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=CACHE / "cost")))

        def count(stage: str) -> Mapping[str, Count]:
            folder = room / stage
            folder.mkdir()
            return measure(stage, cases, blocks, python, library, address, folder, split, accelerator, layout)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        found = dict(zip(stages, pool.map(count, stages), strict=True))
    return {case: {stage: found[stage][case] for stage in stages} for case in cases}


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress cost", description="Instructions a request, by callgrind.")
    parser.add_argument("--cases", type=some(CASES), help=",".join(CASES))
    parser.add_argument(
        "--blocks", type=int, help=f"of 512 requests each, counted by themselves ({_BLOCKS}; short: {_FEW_BLOCKS})"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="stages at a time (%(default)d)")
    parser.add_argument(
        "--split",
        type=int,
        help="split the time of one request in so many; 0: of none (with the accelerator 1, else 0)",
    )
    parser.add_argument(
        "--native", choices=CHOICES, default=PYTHON,
        help="count Python alone, with the accelerator, or each of both (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--short", action="store_true", help="few cases, no parts; judged by the record")
    parser.add_argument("--record", action="store_true", help="write the numbers to stress/recorded_cost.json")
    return parser.parse_args(arguments)
