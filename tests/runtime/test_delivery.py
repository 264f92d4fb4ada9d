"""The records of an application reach the collector, once, and every record is accounted for."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from kit.virtual_time import on_virtual_clocks, virtual_now
from runtime.worlds import (
    NO_WATCH,
    agent_of,
    ambiguous,
    failing_once,
    hanging,
    outcome,
    record,
    under_way,
    unreachable,
)
from swagent import Agent, AgentStateError
from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio


async def settled(agent: Agent) -> dict[str, int]:
    """The outcome once nothing waits and nothing is under way."""
    with anyio.fail_after(5):
        await agent.flush(5)
    return outcome(agent)


@on_virtual_clocks
async def test_a_batch_leaves_by_its_age_without_a_flush() -> None:
    collector = MemoryCollector()
    async with agent_of(collector, clock=virtual_now, **NO_WATCH):
        await collector.wait_until(lambda it: bool(it.properties))
        began = virtual_now()
        record(3)
        await collector.wait_until(lambda it: it.count(Signal.SEGMENT) == 3)
        assert virtual_now() - began == pytest.approx(0.5)
        assert collector.batches == [3]


async def test_all_batches_that_may_leave_do_so_in_one_turn_of_the_loop() -> None:
    """With many tasks a turn takes seconds, and records that need many turns would grow too old."""
    collector, answered = MemoryCollector(), anyio.Event()
    async with agent_of(collector) as agent:
        record()
        assert await agent.flush()
        collector.behaviour = answered.wait
        record(4 * 512)
        turns = 0
        while outcome(agent) != {"confirmed": 1, "in flight": 4 * 512}:
            turns += 1
            assert turns < 20
            await anyio.lowlevel.checkpoint()
        answered.set()
        # one in which the reporter hears of them, and one in which it takes them
        assert turns <= 3


async def test_stopping_delivers_what_waits() -> None:
    collector = MemoryCollector()
    async with agent_of(collector) as agent:
        record(1300)
    assert collector.count(Signal.SEGMENT) == 1300
    assert max(collector.batches) == 512
    assert outcome(agent) == {"confirmed": 1300}


async def test_records_before_the_start_and_after_the_stop_are_not_counted() -> None:
    collector = MemoryCollector()
    agent = agent_of(collector)
    record()
    async with agent:
        pass
    record()
    assert outcome(agent) == {}


async def test_records_wait_for_a_collector_that_comes_later() -> None:
    collector = MemoryCollector()
    collector.behaviour = unreachable
    async with agent_of(collector) as agent:
        record(5)
        assert not await agent.flush(0.05)
        assert outcome(agent) == {"queued": 5}
        collector.behaviour = None
        with anyio.fail_after(5):
            assert await agent.flush(5)
        assert outcome(agent) == {"confirmed": 5}


@pytest.mark.parametrize(
    ("error", "delivery", "lost"),
    [
        (RejectedError("refused"), "at_least_once", {"dropped rejected": 2}),
        (AmbiguousError("?"), "at_most_once", {"dropped ambiguous": 2}),
        (AmbiguousError("?"), "at_least_once", {}),
        (RetryableError("no connection"), "at_most_once", {}),
    ],
    ids=["rejected", "ambiguous, at most once", "ambiguous, at least once", "provably unsent"],
)
async def test_a_batch_that_fails_is_dropped_or_sent_again_and_the_next_one_goes_on(
    error: DeliveryError, delivery: str, lost: dict[str, int]
) -> None:
    collector = MemoryCollector()
    async with agent_of(collector, delivery=delivery) as agent:
        await collector.wait_until(lambda it: bool(it.properties))
        collector.behaviour = failing_once(error)
        record(2)
        assert await agent.flush(5) is not bool(lost)
        record(3)
        assert await agent.flush(5)
        assert outcome(agent) == {"confirmed": 3 if lost else 5, **lost}
    assert collector.batches == ([3] if lost else [2, 3])
    assert len(set(collector.records[Signal.SEGMENT])) == sum(collector.batches)


@on_virtual_clocks
async def test_the_timeout_of_a_flush_wins() -> None:
    collector = MemoryCollector()
    async with agent_of(collector, shutdown_timeout=0.0, **NO_WATCH) as agent:
        await collector.wait_until(lambda it: bool(it.properties))
        collector.behaviour = hanging
        record()
        began = virtual_now()
        assert not await agent.flush(0.25)
        assert virtual_now() - began == pytest.approx(0.25)
        await under_way(agent, 1)
        assert outcome(agent) == {"in flight": 1}


async def test_a_flush_waits_for_its_own_records_and_not_for_as_many_others() -> None:
    """Batches overtake each other: a later one that is confirmed says nothing of an earlier one."""
    collector = MemoryCollector()
    released = anyio.Event()
    first = True

    async def hold_the_first() -> None:
        nonlocal first
        if first:
            first = False
            await released.wait()

    async with agent_of(collector) as agent:
        await collector.wait_until(lambda it: bool(it.properties))
        collector.behaviour = hold_the_first
        record()
        flushed: list[bool] = []

        async def flush() -> None:
            flushed.append(await agent.flush(5))

        async with anyio.create_task_group() as group:
            group.start_soon(flush)
            await anyio.wait_all_tasks_blocked()
            record(512)
            await collector.wait_until(lambda it: it.count(Signal.SEGMENT) == 512)
            await anyio.wait_all_tasks_blocked()
            assert flushed == []
            released.set()
        assert flushed == [True]


async def test_a_flush_with_nothing_to_do() -> None:
    collector = MemoryCollector()
    agent = agent_of(collector)
    with pytest.raises(AgentStateError):
        await agent.flush()
    async with agent:
        assert await agent.flush(0.5)
        collector.behaviour = ambiguous
        record()
    with anyio.fail_after(1):
        await agent.flush()
    assert outcome(agent).keys() <= {"dropped shutdown", "dropped ambiguous"}


async def test_a_rejection_with_a_pause_holds_the_records_back() -> None:
    collector = MemoryCollector()
    async with agent_of(collector) as agent:
        await collector.wait_until(lambda it: bool(it.properties))
        collector.behaviour = failing_once(RejectedError("token", pause=60.0))
        record(2)
        await agent.flush()
        record(1)
        assert not await agent.flush(0.1)
        assert outcome(agent) == {"dropped rejected": 2, "queued": 1}
