"""However the host is ended, the agent ends with it: flushed, counted, and without holding anything up."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

import anyio
import pytest
from anyio import CancelScope

from runtime.worlds import ASYNCIO, ASYNCIO_IDS, Host, agent_of, hanging, no_task_is_left, outcome, record, unreachable
from swagent import Agent
from swagent.signals import Signal
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio

on_asyncio = pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)


async def test_a_cancelled_scope_around_the_host_still_flushes() -> None:
    collector = MemoryCollector()
    agent = agent_of(collector)
    with anyio.fail_after(3), no_task_is_left():
        with CancelScope() as scope:
            async with agent:
                await collector.wait_until(lambda it: bool(it.properties))
                record(3)
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
    assert outcome(agent) == {"confirmed": 3}


async def test_a_cancellation_while_the_agent_stops_cuts_it_short_and_goes_on() -> None:
    collector = MemoryCollector()
    collector.behaviour = hanging
    agent = agent_of(collector, shutdown_timeout=300.0, request_timeout=300.0)
    with anyio.fail_after(4), CancelScope() as scope:
        async with anyio.create_task_group() as group:
            host = Host(agent)
            group.start_soon(host.live)
            await host.running.wait()
            record(2)
            scope.cancel()
    assert scope.cancelled_caught
    assert outcome(agent) == {"dropped shutdown": 2}


async def test_cancelled_before_it_began_it_does_not_start() -> None:
    agent = agent_of(MemoryCollector())
    with anyio.fail_after(3), no_task_is_left():
        with CancelScope() as scope:
            scope.cancel()
            async with agent:
                await anyio.sleep_forever()
        assert scope.cancelled_caught
    record()
    assert outcome(agent) == {}


async def test_the_flush_under_cancellation_takes_a_second_at_most() -> None:
    collector = MemoryCollector()
    agent = agent_of(collector, request_timeout=300.0)
    with CancelScope() as scope:
        async with agent:
            await collector.wait_until(lambda it: bool(it.properties))
            collector.behaviour = hanging
            record(2)
            began = anyio.current_time()
            scope.cancel()
            await anyio.sleep_forever()
    assert 0.9 < anyio.current_time() - began < 1.4
    assert outcome(agent) == {"dropped ambiguous": 2}


@on_asyncio
async def test_native_cancellation_of_the_host_still_flushes() -> None:
    collector = MemoryCollector()
    host = Host(agent_of(collector))
    living = asyncio.ensure_future(host.live())
    await host.running.wait()
    await collector.wait_until(lambda it: bool(it.properties))
    record(3)
    living.cancel()
    with anyio.fail_after(3), pytest.raises(asyncio.CancelledError):
        await living
    assert outcome(host.agent) == {"confirmed": 3}


def all_others() -> set[asyncio.Task[object]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current and task.get_name() != "test"}


async def swept(host: Host, before: set[asyncio.Task[object]], times: int = 1) -> None:
    """Cancel every task that began since, as a server does when Ctrl-C comes again, and wait for the host."""
    for _ in range(times):
        for task in all_others() - before:
            task.cancel()
        await anyio.lowlevel.checkpoint()
    await host.left.wait()


async def swept_outcome(times: int) -> dict[str, int]:
    """What became of three records of a host that was swept up with all its tasks."""
    collector = MemoryCollector()
    before = all_others()
    host = Host(agent_of(collector))
    living = asyncio.ensure_future(host.live())
    await host.running.wait()
    await collector.wait_until(lambda it: bool(it.properties))
    record(3)
    with anyio.fail_after(3):
        await swept(host, before, times)
        with pytest.raises(asyncio.CancelledError):
            await living
    assert all_others() <= before
    return outcome(host.agent)


@on_asyncio
async def test_a_sweep_over_all_tasks_leaves_the_last_flush_to_the_host() -> None:
    assert await swept_outcome(times=1) == {"confirmed": 3}


@on_asyncio
@pytest.mark.parametrize("times", [2, 3])
async def test_sweep_upon_sweep_cuts_the_last_flush_short_and_counts_what_is_left(times: int) -> None:
    counts = await swept_outcome(times)
    assert sum(counts.values()) == 3
    assert counts.keys() <= {"confirmed", "dropped shutdown", "dropped ambiguous"}


@on_asyncio
async def test_a_sweep_that_spares_the_host_does_not_end_it() -> None:
    before = all_others()
    agent = agent_of(MemoryCollector())
    async with agent:
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            for task in all_others() - before:
                task.cancel()
            await anyio.wait_all_tasks_blocked()
        record(2)
    assert outcome(agent) == {"confirmed": 2}


async def ticks(count: int) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


async def lively(agent: Agent, collector: MemoryCollector) -> None:
    """A host with everything that an agent does: start, several batches under way, a flush, stop."""
    async with agent:
        record(600)
        await agent.flush()
        record(512)
        await ticks(3)
        record(5)


def check_nothing_was_lost(agent: Agent, collector: MemoryCollector) -> None:
    counts = outcome(agent)
    arrived = collector.records[Signal.SEGMENT]
    assert counts.get("queued", 0) == counts.get("in flight", 0) == 0, counts
    assert len(set(arrived)) == len(arrived), "nothing arrives twice"
    assert len(arrived) - counts.get("confirmed", 0) <= counts.get("dropped ambiguous", 0), counts


async def cancelled_at_each_tick(
    cancel: Callable[[asyncio.Task[None] | CancelScope, set[asyncio.Task[object]]], None],
) -> int:
    """Run a host again and again, and end it one tick later each time, until it is done before."""
    tick = 0
    while True:
        collector = MemoryCollector()
        agent = agent_of(collector)
        before = all_others()
        living = asyncio.ensure_future(lively(agent, collector))
        await ticks(tick)
        if living.done():
            await living
            return tick
        cancel(living, before)
        with anyio.fail_after(3):
            await asyncio.wait([living])
        assert living.cancelled() or living.exception() is None, f"tick {tick}: {living!r}"
        if agent.statistics().signals:
            check_nothing_was_lost(agent, collector)
        assert all_others() <= before, f"tick {tick}"
        tick += 1


def cancel_the_host(living: asyncio.Task[None] | CancelScope, before: set[asyncio.Task[object]]) -> None:
    living.cancel()


def cancel_everything(living: asyncio.Task[None] | CancelScope, before: set[asyncio.Task[object]]) -> None:
    for task in all_others() - before:
        task.cancel()


# asyncio itself says so of a task that is cancelled before its first turn
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@on_asyncio
@pytest.mark.parametrize("cancel", [cancel_the_host, cancel_everything])
async def test_native_cancellation_at_every_tick_of_a_life(
    cancel: Callable[[asyncio.Task[None] | CancelScope, set[asyncio.Task[object]]], None],
) -> None:
    assert await cancelled_at_each_tick(cancel) > 20
    gc.collect()


async def test_cancellation_by_a_scope_at_every_tick_of_a_life() -> None:
    tick = 0
    finished = False
    while not finished:
        collector = MemoryCollector()
        agent = agent_of(collector)

        async def cancel_at(scope: CancelScope, tick: int) -> None:
            await ticks(tick)
            scope.cancel()

        with anyio.fail_after(3), no_task_is_left():
            async with anyio.create_task_group() as group:
                with CancelScope() as scope:
                    group.start_soon(cancel_at, scope, tick)
                    await lively(agent, collector)
                    finished = True
                group.cancel_scope.cancel()
        if agent.statistics().signals:
            check_nothing_was_lost(agent, collector)
        tick += 1
    assert tick > 10


async def test_cancelled_while_no_collector_is_there() -> None:
    collector = MemoryCollector()
    collector.behaviour = unreachable
    agent = agent_of(collector)
    with anyio.fail_after(3), CancelScope() as scope:
        async with agent:
            record(3)
            scope.cancel()
            await anyio.sleep_forever()
    assert outcome(agent) == {"dropped shutdown": 3}
