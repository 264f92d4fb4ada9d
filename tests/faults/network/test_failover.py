"""Three collectors: one works, and then another must."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
import pytest

from faults.covering import each_cell
from faults.network.lines import Line, confirm_again, confirm_one, record, wait_for

pytestmark = pytest.mark.anyio

WITHIN = 6.0


@pytest.mark.slow
@each_cell("F20")
async def test_the_next_collector_takes_over_and_nothing_comes_twice(make_line: Callable[[int], Line]) -> None:
    line = make_line(3)
    first, second, third = line.proxies
    await first.thread.call(first.stop)
    async with line.agent(request_timeout=1.0) as agent, anyio.create_task_group() as group:

        async def work() -> None:
            while True:
                record(3)
                with anyio.move_on_after(0.01):
                    await agent.flush()
                assert agent.statistics().balanced

        record()
        assert await seconds_until_confirmed(line, 1) <= WITHIN, "the first one is dead from the start"
        group.start_soon(work)
        await wait_for(lambda: agent.statistics().segment.in_flight)
        await second.thread.call(second.stop)
        assert await seconds_until_confirmed(line, 2) <= WITHIN, "the active one is killed under load"
        await second.thread.call(second.start)
        await wait_for(lambda: agent.statistics().segment.in_flight)
        third.set(hole=True)
        assert await seconds_until_confirmed(line, 1) <= WITHIN, "the active one falls silent under load"
        group.cancel_scope.cancel()
    counts = line.audit(agent)
    print(counts)
    assert set(counts) <= {"confirmed", "dropped ambiguous"}


@each_cell("F20")
async def test_when_all_were_dead_the_one_that_comes_back_gets_what_waited(make_line: Callable[[int], Line]) -> None:
    line = make_line(3)
    async with line.agent() as agent:
        await confirm_one(agent)
        for each in line.proxies:
            await each.thread.call(each.stop)
        record(5)
        assert not await agent.flush(0.1)
        await wait_for(lambda: agent.statistics().segment.queued == 5)
        await line.proxy.thread.call(line.proxy.start)
        with anyio.fail_after(WITHIN):
            assert await agent.flush(WITHIN)
        await confirm_again(agent)
    assert line.audit(agent)["confirmed"] >= 7


async def seconds_until_confirmed(line: Line, index: int) -> float:
    """How long it takes until a collector has confirmed a batch more."""
    began = time.monotonic()
    address = line.proxies[index].address

    def confirmed() -> int:
        return sum(address in note.address for note in line.sends("confirmed"))

    before = confirmed()
    await wait_for(lambda: confirmed() > before, WITHIN + 1)
    return time.monotonic() - began
