"""An agent's life is lived once for each suspension of its own tasks, and what they wait for fails there: the
application goes on, and what was hurt reports again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import pytest

from faults.steps.cells import each_cell_lived, on_all
from faults.steps.trials import fail_with, try_at_each, try_at_some
from faults.steps.worlds import MemoryWorld, world_of

if sys.version_info < (3, 11):
    from exceptiongroup import ExceptionGroup

PLACES = 24

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]

Make = Callable[[int], BaseException]


def stray(_: int) -> BaseException:
    """The error that asyncio's libraries leak when a future of theirs is cancelled, on asyncio or inside of trio."""
    return asyncio.CancelledError()


def failure(_: int) -> BaseException:
    return OSError("a fault")


def rarer(at: int) -> BaseException:
    return MemoryError() if at % 2 else ExceptionGroup("faults", [ValueError("one"), OSError("two")])


def any_of_them(at: int) -> BaseException:
    return (stray, failure, rarer, rarer)[at % 4](at // 2)


@on_all
@pytest.mark.parametrize("make", [stray, failure, rarer])
async def test_whatever_the_agents_tasks_wait_for_fails(make: Make) -> None:
    assert await try_at_each(MemoryWorld(), fail_with(make)) > 25


@each_cell_lived("C03")
async def test_whatever_a_real_transport_waits_for_fails(transport: str) -> None:
    with world_of(transport) as world:
        assert await try_at_some(world, fail_with(any_of_them), PLACES, may_leave=True) > PLACES // 2
