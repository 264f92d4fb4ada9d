"""The simulated world: one seed is one history, what is planted is found, and many seeds find nothing else."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from kit.seeds import session_seed
from stress.__main__ import main as stress
from stress.world.command import main
from stress.world.loop import EndlessError, WorldLoop
from stress.world.plan import CELLS, Disk, Fault, Plan, draw_plan
from stress.world.run import run_plan
from stress.world.shrink import shrink
from swagent import acceleration

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


@pytest.mark.slow
def test_one_seed_with_a_disk_is_one_history() -> None:
    plan = next(plan for plan in map(partial(draw_plan, minutes=0.5), range(100)) if plan.disk is not None)
    first, second = run_plan(plan), run_plan(plan)
    assert first.digest == second.digest
    assert not first.violation


@pytest.mark.slow
def test_it_is_the_same_in_another_process() -> None:
    program = "import sys; from stress.world.command import main; sys.exit(main(sys.argv[1:]))"
    status, printed = _run(program, "--seed", "0", "--minutes", "1", PYTHONHASHSEED="417")
    assert status == 0
    assert run_plan(draw_plan(0, 1.0)).digest in printed


def _run(program: str, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run a program in a process of its own; its exit status and what it prints."""
    command = [sys.executable, "-c", program, *arguments]
    environment = {**os.environ, **variables}
    root = Path(__file__).parents[2]
    found = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return found.returncode, found.stdout


def test_the_accelerator_has_no_virtual_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(acceleration, "native", object())
    assert stress(["world", "--seed", "0", "--minutes", "1"]) == 2
    assert "set SW_AGENT_NATIVE=off" in capsys.readouterr().err


@pytest.mark.slow
def test_another_seed_is_another_history() -> None:
    plan = draw_plan(0, 1.0)
    assert run_plan(plan).digest != run_plan(replace(plan, seed=len(CELLS))).digest


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


_QUICKLY_FOUND = [
    "the first record does not wake the reader",
    "one record of a batch is not counted as confirmed",
    "a settled lease still counts as under way",
]


_PLANTED = """
import sys
from stress.world.mutations import MUTATIONS
from stress.world.plan import draw_plan
from stress.world.run import run_plan

with MUTATIONS[sys.argv[1]].in_force():
    found = any(run_plan(draw_plan(seed, float(sys.argv[2]))).violation for seed in range(6))
print("found" if found else "not found")
"""
_FAILING = """
import sys
from stress.world.command import main
from stress.world.mutations import MUTATIONS

with MUTATIONS[sys.argv[1]].in_force():
    sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", _QUICKLY_FOUND)
def test_a_planted_fault_is_found(name: str) -> None:
    # in a process of its own: a world that ends at a violation leaves an agent that has not stopped
    assert _run(_PLANTED, name, "1") == (0, "found\n")


def test_the_fewest_faults_that_fail() -> None:
    faults = tuple(Fault(float(at), 1.0, "kill", 0, 0.5) for at in range(10))
    needed = {faults[3], faults[8]}
    ran: list[Plan] = []

    def fails(plan: Plan) -> bool:
        ran.append(plan)
        return needed <= set(plan.faults)

    smaller = shrink(replace(draw_plan(0, 1.0), faults=faults), fails)
    assert set(smaller.faults) == needed
    assert len(ran) < 60


def test_a_wait_without_end_is_an_error() -> None:
    loop = WorldLoop(Random(1))
    try:
        with pytest.raises(EndlessError):
            loop.run_until_complete(loop.create_future())
    finally:
        loop.close()


def test_the_seed_draws_the_order_of_ready_tasks() -> None:
    orders = {tuple(_order(Random(seed).random)) for seed in range(20)}
    assert len(orders) > 1
    assert _order(Random(7).random) == _order(Random(7).random)


def _order(random: Callable[[], float]) -> list[int]:
    loop = WorldLoop(Random(random()))
    found: list[int] = []

    async def note(number: int) -> None:
        await asyncio.sleep(1)
        found.append(number)

    async def run() -> None:
        await asyncio.gather(*map(note, range(5)))

    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    assert sorted(found) == [0, 1, 2, 3, 4]
    return found


@pytest.mark.slow
def test_the_command_runs_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "2", "--minutes", "0.5", "--jobs", "1"]) == 0
    assert "2 seeds" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_shows_a_failing_seed() -> None:
    status, output = _run(_FAILING, _QUICKLY_FOUND[0], "--seed", "1", "--minutes", "0.5")
    assert status == 1
    assert "failed: all is well, and" in output
    assert "--seed 1 --verbose" in output
