"""A collector that comes and goes, and many agents that wait for it."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any, Literal

import anyio
import pytest

from faults.covering import each_cell
from faults.network.lines import Line, confirm_again, record, wait_for
from kit.seeds import session_seed
from kit.virtual_time import on_virtual_clocks, virtual_now
from runtime.worlds import NO_WATCH, ambiguous, config, unreachable
from swagent import Agent
from swagent.abc import Instance
from swagent.signals import Signal
from swagent.testing import MemoryCollector, MemoryTransport

pytestmark = pytest.mark.anyio

SEED = 20
CAP = 30.0


@pytest.mark.slow
@each_cell("F19")
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
async def test_a_flapping_collector_got_as_many_records_as_the_ledger_says(
    line: Line,
    delivery: Literal["at_most_once", "at_least_once"],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seed = session_seed()
    print(f"seed {seed}")
    random = Random(seed)
    caplog.set_level(logging.INFO)
    # ten times as fast as in earnest
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: random.random() / 10)
    async with line.agent(delivery=delivery) as agent:

        async def work() -> None:
            while True:
                record(3)
                with anyio.move_on_after(0.01):
                    await agent.flush()
                assert agent.statistics().balanced

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            for _ in range(5):
                await wait_for(lambda: agent.statistics().segment.in_flight)
                await anyio.sleep(random.random() / 50)
                await line.proxy.thread.call(line.proxy.stop)
                await anyio.sleep(random.random() / 5)
                await line.proxy.thread.call(line.proxy.start)
            group.cancel_scope.cancel()
        # not in the group, where this would be cancelled, too
        await confirm_again(agent)
    with_repeats = Counter(each for note in line.sends() if note.verdict != "RetryableError" for each in note.ids)
    counts = line.audit(agent)
    print(counts, f"{sum(with_repeats.values()) - len(with_repeats)} repeats")
    assert set(counts) <= {"confirmed", "dropped ambiguous"}
    assert counts["confirmed"] > 0
    # the collector's own server runs in this process; asyncio, in debug mode, complains about a busy machine
    talking = {each.name for each in caplog.records} - {"grpclib.server", "asyncio"}
    assert talking == {"swagent"}, "no library talks to the application"
    assert sum("no report to" in each.getMessage() for each in caplog.records) == 1
    if delivery == "at_most_once":
        assert max(with_repeats.values()) == 1
    else:
        assert max(with_repeats.values()) <= 3


# -- on a clock that jumps: what an hour brings -----------------------------------------------------------------------


class Collector(MemoryCollector):
    """One that notes who asks when, and what it is sent again."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[tuple[str, float]] = []
        self.batches_tried: list[bytes] = []
        collector = self

        class Noted(MemoryTransport):
            async def send(self, signal: Signal, records: Any) -> None:
                collector.batches_tried.append(b"".join(records))
                await super().send(signal, records)

            async def report_properties(self, instance: Instance) -> None:
                collector.attempts.append((instance.name, anyio.current_time()))
                await super().report_properties(instance)

        Noted.collector = self
        self.transport = Noted

    def gaps(self) -> list[list[float]]:
        """For each agent the seconds between its attempts."""
        times: dict[str, list[float]] = {}
        for name, at in self.attempts:
            times.setdefault(name, []).append(at)
        return [[later - earlier for earlier, later in pairwise(each)] for each in times.values()]


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swagent.agent.JITTER.random", Random(SEED).random)


@on_virtual_clocks
@pytest.mark.usefixtures("seeded")
async def test_five_minutes_of_flapping_repeat_a_tenth_at_most() -> None:
    """One second up and one second down, and what is under way when it goes down is open."""
    collector = Collector()
    agent = Agent(config(delivery="at_least_once", **NO_WATCH), transport=collector.transport, clock=virtual_now)

    async def flap() -> None:
        while True:
            await anyio.sleep(1)
            collector.behaviour = ambiguous
            await anyio.sleep(1)
            collector.behaviour = None

    async with agent, anyio.create_task_group() as group:
        group.start_soon(flap)
        for _ in range(3000):
            record(2)
            await anyio.sleep(0.1)
            assert agent.statistics().balanced
        group.cancel_scope.cancel()
        collector.behaviour = None
    tried = len(collector.batches_tried)
    repeats = tried - len(set(collector.batches_tried))
    confirmed = len(collector.batches)
    print(f"{tried} batches sent, {confirmed} confirmed, {repeats} repeats")
    assert 10 < repeats <= 10 + confirmed / 10, "all repeats that were affordable, and no more"
    assert max(Counter(collector.batches_tried).values()) <= 3


@on_virtual_clocks
@pytest.mark.usefixtures("seeded")
async def test_many_agents_come_back_within_the_cap_and_not_together() -> None:
    collector = Collector()
    collector.behaviour = unreachable
    came_back: list[float] = []

    async def live(number: int) -> None:
        own = config(instance=f"instance {number}", **NO_WATCH)
        async with Agent(own, transport=collector.transport, clock=virtual_now):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(live, number)
        await anyio.sleep(600)
        gaps = collector.gaps()
        healed_at = anyio.current_time()
        collector.behaviour, collector.attempts = None, []
        # before the first of them reports its properties again, after ten beats
        await anyio.sleep(100)
        came_back = sorted(at - healed_at for _, at in collector.attempts)
        group.cancel_scope.cancel()
    assert len(came_back) == 100
    print(f"back after {came_back[0]:.1f} to {came_back[-1]:.1f} s, half of them within {came_back[49]:.1f} s")
    assert came_back[-1] <= 31.0
    assert came_back[49] <= 16.0
    assert largest_crowd(came_back, seconds=1.0) <= 100 // 6
    for attempt in range(12):
        # the envelope; tests/pipeline/test_failover.py has the jitter within
        assert max(each[attempt] for each in gaps) <= min(CAP, 1.6**attempt) + 1e-6


def largest_crowd(times: list[float], seconds: float) -> int:
    """The most events within any such time."""
    return max(sum(begin <= at < begin + seconds for at in times) for begin in times)
