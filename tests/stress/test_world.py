"""The simulated world: one seed is one history, what is planted is found, and many seeds find nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kit.seeds import session_seed
from stress.world.plan import CELLS, Disk, Fault, draw_plan
from stress.world.run import run_plan

# as many as fit into CI; `make world` runs as many as one wants
_BLOCKS, _OF = 12, 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(CELLS)), ids=lambda seed: "-".join(CELLS[seed]))
def test_one_seed_is_one_history(seed: int) -> None:
    plan = draw_plan(seed, 1.0)
    first, second = run_plan(plan), run_plan(plan)
    assert first.lines > 50
    assert first.digest == second.digest
    assert not first.violation


def _run(program: str, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run a program in a process of its own; its exit status and what it prints."""
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, **variables}
    root = Path(__file__).parents[2]
    found = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return found.returncode, found.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("block", range(_BLOCKS))
def test_many_seeds_find_nothing(block: int) -> None:
    first = session_seed() * _BLOCKS * _OF + block * _OF
    outcomes = [run_plan(draw_plan(seed, 1.0)) for seed in range(first, first + _OF)]
    failed = [f"python -m stress world --minutes 1 --seed {each.plan.seed}: {each.violation}" for each in outcomes]
    assert [text for text, each in zip(failed, outcomes, strict=True) if each.violation] == []


@pytest.mark.slow
def test_an_outage_under_load_drops_what_is_ordinary(capsys: pytest.CaptureFixture[str]) -> None:
    plan = draw_plan(0, 1.0)
    settings = {**plan.settings, "trace_max_buffer_size": 3584}
    outage = tuple(Fault(5.0, 40.0, "kill", collector, 0.5) for collector in range(plan.collectors))
    outcome = run_plan(replace(plan, settings=settings, pace=0.1, most=120, faults=outage), is_verbose=True)
    assert not outcome.violation
    assert "(shed)" in capsys.readouterr().out


@pytest.mark.slow
def test_the_stop_is_in_time_though_the_disk_hangs(capsys: pytest.CaptureFixture[str]) -> None:
    plan = draw_plan(0, 0.1)
    room = {"trace_max_buffer_size": 40, "log_reporter_max_buffer_size": 40, "shutdown_timeout": 0.5}
    faults = [Fault(2.0, 20.0, "kill", collector, 0.5) for collector in range(plan.collectors)]
    faults += [Fault(4.0, 0.0, "burst", 0, 0.2), Fault(5.0, 14.0, "hanging disk", 0, 0.5)]
    faults += [
        Fault(6.0, 0.0, "burst", 0, 0.2),
        Fault(8.0, 0.0, "restart", 0, 0.5),
        Fault(40.0, 0.0, "restart", 0, 0.5),
    ]
    settings = {**plan.settings, **room, "spill": "/world,8MiB"}
    plan = replace(plan, faults=tuple(faults), disk=Disk(8, 24 << 10), settings=settings, pace=1.0, most=8)
    outcome = run_plan(replace(plan, ends_at=plan.calm_from + 30.0), is_verbose=True)
    assert not outcome.violation
    assert "records from disk" in capsys.readouterr().out


_PLANTED = """
import sys
from stress.world.mutations import MUTATIONS
from stress.world.plan import draw_plan
from stress.world.run import run_plan

with MUTATIONS[sys.argv[1]].in_force():
    found = any(run_plan(draw_plan(seed, 1.0)).violation for seed in range(6))
print("found" if found else "not found")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "the first record does not wake the reader",
        "one record of a batch is not counted as confirmed",
        "a settled lease still counts as under way",
    ],
)
def test_a_planted_fault_is_found(name: str) -> None:
    # in a process of its own: a world that ends at a violation leaves an agent that has not stopped
    assert _run(_PLANTED, name) == (0, "found\n")
