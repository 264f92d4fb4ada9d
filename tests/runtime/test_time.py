"""Everything that takes its time, on a clock that jumps to the next deadline: hours pass in no time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from kit.virtual_time import on_virtual_clocks, virtual_now
from runtime.worlds import (
    NO_WATCH,
    Collectors,
    FaultyTransport,
    agent_of,
    ambiguous,
    failing_once,
    hanging,
    outcome,
    record,
    unreachable,
)
from swagent import Agent
from swagent.abc import Instance
from swagent.errors import AmbiguousError, RetryableError
from swagent.signals import Signal
from swagent.testing import MemoryCollector, MemoryTransport
from swagent_proto.messages import Event

pytestmark = [pytest.mark.anyio, on_virtual_clocks]


def timed(collector: Any, /, **changes: Any) -> Agent:
    return agent_of(collector, clock=virtual_now, **NO_WATCH, **changes)


@pytest.fixture
def full_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rest is as long as jitter can make it."""
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: 1.0)


@dataclass
class Diary:
    """A collector that writes down what it got, and when."""

    collector: MemoryCollector = field(default_factory=MemoryCollector)
    entries: list[tuple[float, str]] = field(default_factory=list)

    @property
    def transport(self) -> type[MemoryTransport]:
        diary = self

        class Noted(MemoryTransport):
            collector = diary.collector

            async def report_properties(self, instance: Instance) -> None:
                diary.note("properties")
                await super().report_properties(instance)

            async def keep_alive(self, instance: Instance) -> None:
                diary.note("alive")
                await super().keep_alive(instance)

        return Noted

    def note(self, what: str) -> None:
        self.entries.append((anyio.current_time(), what))

    def since(self, began: float) -> list[tuple[float, str]]:
        return [(round(at - began, 3), what) for at, what in self.entries]


# -- heartbeat --------------------------------------------------------------------------------------------------------


async def test_properties_come_first_then_a_sign_of_life_each_period_and_properties_each_tenth() -> None:
    diary = Diary()
    began = anyio.current_time()
    async with timed(diary.transport):
        await anyio.sleep(20 * 30 + 1)
    expected = [(30.0 * beat, "properties" if beat % 10 == 0 else "alive") for beat in range(21)]
    assert diary.since(began) == expected


async def test_after_a_loss_properties_come_again() -> None:
    diary = Diary()
    async with timed(diary.transport) as agent:
        await anyio.sleep(31)
        diary.collector.behaviour = failing_once(RetryableError("connection lost"))
        record()
        assert await agent.flush(30)
        await anyio.sleep(31)
    assert [what for _, what in diary.entries] == ["properties", "alive", "properties", "alive"]


async def test_a_missed_heartbeat_moves_on_to_the_next_collector() -> None:
    collectors = Collectors(2)
    async with timed(collectors.transport, collector=collectors.addresses) as agent:
        await anyio.sleep(1)
        collectors[0].behaviour = hanging
        await anyio.sleep(30 + 5 + 1)
        assert len(collectors[1].properties) == 1
        record()
        assert await agent.flush(1)
    assert collectors.counts() == [0, 1]


async def test_a_new_collector_is_found_while_a_heartbeat_still_hangs_on_the_old_one() -> None:
    """Bounded by one call's time, not by the heartbeat's period."""
    collectors = Collectors(2)
    async with timed(collectors.transport, collector=collectors.addresses, request_timeout=5.0) as agent:
        await anyio.sleep(29.9)
        collectors[0].behaviour = hanging
        record()
        await anyio.sleep(0.2)
        record()
        began = anyio.current_time()
        await agent.flush(60)
        assert anyio.current_time() - began <= 6.0
        record()
        assert await agent.flush(1)


# -- outages ----------------------------------------------------------------------------------------------------------


async def test_records_older_than_their_age_are_dropped_as_expired() -> None:
    collector = MemoryCollector()
    collector.behaviour = unreachable
    async with timed(collector) as agent:
        record(3)
        await anyio.sleep(50)
        record(2)
        await anyio.sleep(11)
        collector.behaviour = None
        await collector.wait_until(lambda it: it.count(Signal.SEGMENT) > 0, timeout=60)
        assert await agent.flush(1)  # until the agent has heard so
        assert outcome(agent) == {"confirmed": 2, "dropped expired": 3}


@pytest.mark.gate
async def test_a_long_outage_repeats_its_warning_every_half_minute_at_most(caplog: pytest.LogCaptureFixture) -> None:
    collector = MemoryCollector()
    collector.behaviour = unreachable
    async with timed(collector):
        await anyio.sleep(900)
        warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) <= 900 / 30 + 1
    assert "more like it since" in warnings[-1]


@pytest.mark.gate
async def test_a_flapping_collector_is_logged_as_seldom_as_a_dead_one(caplog: pytest.LogCaptureFixture) -> None:
    collector = MemoryCollector()
    async with timed(collector):
        for _ in range(100):
            collector.behaviour = unreachable
            record(1)
            await anyio.sleep(2)
            collector.behaviour = None
            await anyio.sleep(4)
        levels = [each.levelno for each in caplog.records if "memory:1" in each.getMessage() and each.levelno > 10]
    assert levels.count(logging.WARNING) <= 600 / 30 + 1
    assert 1 < levels.count(logging.INFO) <= levels.count(logging.WARNING), "an end is logged where its begin was"


async def test_when_an_outage_is_over_its_cost_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    collector = MemoryCollector()
    async with timed(collector, trace_max_buffer_size=10):
        record(2)
        await anyio.sleep(1)
        collector.behaviour = unreachable
        record(4)
        await anyio.sleep(70)  # longer than a record waits
        record(13)
        collector.behaviour = None
        await anyio.sleep(31)
        (text,) = [each.getMessage() for each in caplog.records if "reporting to" in each.getMessage()]
    assert "3 records were refused and 4 dropped, and 10 wait" in text


# -- verdicts ---------------------------------------------------------------------------------------------------------


async def test_at_least_once_repeats_within_its_attempts() -> None:
    sends: list[float] = []

    class Silent(FaultyTransport):
        async def send(self, signal: Signal, records: Any) -> None:
            sends.append(anyio.current_time())
            raise AmbiguousError("no verdict")

    async with timed(Silent, delivery="at_least_once") as agent:
        await anyio.sleep(1)
        record(2)
        assert not await agent.flush(300)
        assert outcome(agent) == {"dropped ambiguous": 2}
    assert len(sends) == 3


# -- stopping ---------------------------------------------------------------------------------------------------------


async def never(self: object, *_: object) -> None:
    await anyio.sleep_forever()


HANGING: dict[str, dict[str, Callable[..., Awaitable[None]]]] = {
    "from the start": {"report_properties": never, "keep_alive": never, "send": never},
    "in send": {"send": never},
    "in everything": {"report_properties": never, "keep_alive": never, "send": never, "aclose": never},
    "in aclose": {"aclose": never},
}


@pytest.mark.parametrize("timeout", [0.0, 0.5, 5.0, 60.0])
@pytest.mark.parametrize("methods", HANGING.values(), ids=HANGING.keys())
async def test_stopping_keeps_its_deadline_whatever_hangs(
    methods: dict[str, Callable[..., Awaitable[None]]], timeout: float
) -> None:
    transport: type[FaultyTransport] = type("Hanging", (FaultyTransport,), dict(methods))
    async with timed(transport, shutdown_timeout=timeout) as agent:
        await anyio.sleep(1)
        record(600)
        began = anyio.current_time()
    assert anyio.current_time() - began <= timeout + 0.5
    assert sum(outcome(agent).values()) == 600


async def test_the_event_of_the_end_arrives_though_a_collector_hangs_over_other_records() -> None:
    class Hanging(MemoryCollector):
        async def take(self, signal: Signal, records: Sequence[bytes]) -> None:
            if signal is Signal.SEGMENT:
                await anyio.sleep_forever()
            await super().take(signal, records)

    collector = Hanging()
    async with timed(collector, event_reporter_active=True, shutdown_timeout=5.0):
        record()
        began = virtual_now()
    assert 5 <= virtual_now() - began < 6
    event = Event().parse(collector.records[Signal.EVENT][-1])
    assert (event.name, event.parameters["segment"]) == ("Shutdown", "offered=1 in_flight=1")


async def test_under_outer_cancellation_the_flush_is_shielded_for_a_second() -> None:
    collector = MemoryCollector()

    async def slowly() -> None:
        await anyio.sleep(0.9)

    with anyio.CancelScope() as scope:
        async with timed(collector) as agent:
            await anyio.sleep(1)
            collector.behaviour = slowly
            record(3)
            began = anyio.current_time()
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert anyio.current_time() - began == pytest.approx(0.9)
    assert outcome(agent) == {"confirmed": 3}


@pytest.mark.usefixtures("full_rests")
async def test_stopping_cuts_a_long_rest_short_for_one_last_try() -> None:
    collector = MemoryCollector()
    collector.behaviour = ambiguous
    async with timed(collector) as agent:
        record(3)
        await anyio.sleep(3600)
        record(2)
        collector.behaviour = None
        began = anyio.current_time()
    assert anyio.current_time() - began == 0.0
    assert outcome(agent) == {"confirmed": 2, "dropped expired": 3}
