"""However the host is ended, the agent ends with it: flushed, counted, and without holding anything up."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from anyio import CancelScope

from kit.virtual_time import on_virtual_clocks, virtual_now
from runtime.worlds import (
    ASYNCIO,
    ASYNCIO_IDS,
    NO_WATCH,
    Host,
    agent_of,
    hanging,
    hung,
    no_task_is_left,
    outcome,
    record,
)
from swagent.pipeline.failover import Backoff
from swagent.signals import Signal
from swagent.stop_budgets import CANCELLED_FLUSH
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio


@pytest.fixture
def short_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crashed task is started again at once."""
    monkeypatch.setattr("swagent.runtime.supervisor._BACKOFF", Backoff(base=0.001))


on_asyncio = pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=ASYNCIO_IDS)


@pytest.mark.parametrize("by_hand", [False, True], ids=["as a block", "by hand"])
async def test_a_cancelled_scope_around_the_host_still_flushes(by_hand: bool) -> None:
    collector = MemoryCollector()
    agent = agent_of(collector)
    with anyio.fail_after(3), no_task_is_left():
        with CancelScope() as scope:
            async with AsyncExitStack() as stack:
                if by_hand:
                    await agent.start()
                    stack.push_async_callback(agent.stop)
                else:
                    await stack.enter_async_context(agent)
                await collector.wait_until(lambda it: bool(it.properties))
                record(3)
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
    assert outcome(agent) == {"confirmed": 3}


@on_virtual_clocks
async def test_a_cancellation_while_the_agent_stops_cuts_it_short_and_goes_on() -> None:
    collector = MemoryCollector()
    collector.behaviour = hanging
    agent = agent_of(collector, shutdown_timeout=300.0, request_timeout=300.0, **NO_WATCH)
    began = virtual_now()
    with CancelScope() as scope:
        async with anyio.create_task_group() as group:
            host = Host(agent)
            group.start_soon(host.live)
            await host.running.wait()
            record(2)
            scope.cancel()
    assert scope.cancelled_caught
    assert virtual_now() - began == pytest.approx(CANCELLED_FLUSH)
    assert outcome(agent) == {"dropped shutdown": 2}


@on_virtual_clocks
@pytest.mark.parametrize(
    ("timeout", "cancelled_after", "ends_after"),
    [(60.0, math.inf, 60.0), (2.0, math.inf, 2.0), (2.0, 0.25, 1.25), (2.0, 1.5, 2.0), (300.0, 0.1, 1.1)],
)
async def test_a_cancelled_stop_takes_no_longer_than_another(
    timeout: float, cancelled_after: float, ends_after: float
) -> None:
    """In seconds of a stop that has so many."""
    agent = await hung(shutdown_timeout=timeout)
    began = virtual_now()
    with anyio.move_on_after(cancelled_after) as scope, no_task_is_left():
        await agent.stop()
    assert scope.cancelled_caught == (cancelled_after < math.inf)
    assert virtual_now() - began == pytest.approx(ends_after)
    assert outcome(agent) == {"dropped ambiguous": 2}


@on_virtual_clocks
async def test_the_event_of_the_end_leaves_a_stop_that_is_cancelled() -> None:
    """Other records are still on their way when it is cancelled, and none of these gets there."""
    collector = MemoryCollector()

    class SegmentsHang(collector.transport):  # type: ignore[misc, name-defined]
        async def send(self, signal: Signal, records: Sequence[bytes]) -> None:
            if signal is Signal.SEGMENT:
                await hanging()
            await super().send(signal, records)

    changes = {"event_reporter_active": True, "shutdown_timeout": 5.0, "request_timeout": 300.0, **NO_WATCH}
    agent = await agent_of(SegmentsHang, **changes).start()
    record()
    await anyio.sleep(1)
    with anyio.move_on_after(0.1) as scope:
        await agent.stop()
    assert scope.cancelled_caught
    assert agent.statistics().event.confirmed == 2


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


@on_virtual_clocks
@pytest.mark.parametrize(("changes", "takes"), [({}, CANCELLED_FLUSH), ({"shutdown_timeout": 0.25}, 0.25)])
async def test_the_flush_under_cancellation_takes_a_second_at_most(changes: dict[str, Any], takes: float) -> None:
    collector = MemoryCollector()
    agent = agent_of(collector, request_timeout=300.0, **changes, **NO_WATCH)
    with CancelScope() as scope:
        async with agent:
            await collector.wait_until(lambda it: bool(it.properties))
            collector.behaviour = hanging
            record(2)
            began = virtual_now()
            scope.cancel()
            await anyio.sleep_forever()
    assert virtual_now() - began == pytest.approx(takes)
    assert outcome(agent) == {"dropped ambiguous": 2}


def all_others() -> set[asyncio.Task[object]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current and task.get_name() != "test"}


# asyncio says so of what a task that was cancelled before its first turn would have run
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@on_asyncio
@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_sweep_over_all_tasks_leaves_the_last_flush_to_the_host_and_others_cut_it_short(times: int) -> None:
    """As a server does when Ctrl-C comes again."""
    collector = MemoryCollector()
    before = all_others()
    host = Host(agent_of(collector))
    living = asyncio.ensure_future(host.live())
    await host.running.wait()
    await collector.wait_until(lambda it: bool(it.properties))
    record(3)
    with anyio.fail_after(3):
        for _ in range(times):
            for task in all_others() - before:
                task.cancel()
            await anyio.lowlevel.checkpoint()
        await host.left.wait()
        with pytest.raises(asyncio.CancelledError):
            await living
    assert all_others() <= before
    gc.collect()
    counts = outcome(host.agent)
    assert sum(counts.values()) == 3
    assert counts.keys() <= ({"confirmed"} if times == 1 else {"confirmed", "dropped shutdown", "dropped ambiguous"})


@on_asyncio
async def test_a_sweep_that_spares_the_host_does_not_end_it_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    before = all_others()
    agent = agent_of(MemoryCollector())
    async with agent:
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            for task in all_others() - before:
                task.cancel()
            await anyio.wait_all_tasks_blocked()
        record(2)
        assert agent.statistics().segment.state == "orphaned"
        assert not await agent.flush(), "no task reports, and it is not waited for"
    assert outcome(agent) == {"confirmed": 2}
    assert len([each for each in caplog.records if "ended from outside" in each.getMessage()]) == 1


@on_asyncio
async def test_a_task_of_the_agents_that_is_cancelled_alone_is_replaced(short_crashes: None) -> None:
    collector = MemoryCollector()
    before = all_others()
    async with agent_of(collector, heartbeat_period=0.05) as agent:
        await collector.wait_until(lambda it: bool(it.properties))
        for task in all_others() - before:
            if "Supervisor.run" in repr(task):
                task.cancel()
        await anyio.wait_all_tasks_blocked()
        record(2)
        with anyio.fail_after(3):
            assert await agent.flush(3)
        await collector.wait_until(lambda it: it.heartbeats > 1)
        assert agent.statistics().segment.state == "on"
    assert outcome(agent) == {"confirmed": 2}
