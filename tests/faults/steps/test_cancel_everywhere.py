"""An agent's life is lived once for each of its suspensions, and cancelled there: nothing is lost, nothing is left."""

from __future__ import annotations

import pytest

from faults.steps.cells import each_cell_lived, on_all, on_asyncio
from faults.steps.trials import (
    Trial,
    cancel_any_task,
    end_by_scope,
    end_natively,
    sweep_up,
    sweep_up_others,
    try_at_each,
    try_at_some,
)
from faults.steps.worlds import MemoryWorld, world_of

# Of the lives with a real transport; each takes about 50 ms.
PLACES = 12

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(300),
    # asyncio says so of what a task that was cancelled before its first turn would have run
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]


@on_all
async def test_a_scope_that_is_cancelled_at_any_suspension() -> None:
    assert await try_at_each(MemoryWorld(), end_by_scope) > 50


@on_asyncio
@pytest.mark.parametrize(
    "trial",
    [end_natively, cancel_any_task, sweep_up, pytest.param(sweep_up_others, marks=pytest.mark.slow)],
    ids=["the application's", "any", "all", "all others"],
)
async def test_tasks_cancelled_natively_at_any_suspension(trial: Trial) -> None:
    assert await try_at_each(MemoryWorld(), trial) > 50


@each_cell_lived("C01")
async def test_a_scope_cancelled_amid_the_work_of_a_real_transport(transport: str) -> None:
    with world_of(transport) as world:
        assert await try_at_some(world, end_by_scope, PLACES) >= PLACES // 2


@pytest.mark.parametrize("trial", [end_natively, cancel_any_task], ids=["the application's", "any"])
@each_cell_lived("C02")
async def test_tasks_cancelled_natively_amid_the_work_of_a_real_transport(transport: str, trial: Trial) -> None:
    with world_of(transport) as world:
        assert await try_at_some(world, trial, PLACES) >= PLACES // 2
