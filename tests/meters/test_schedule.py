"""The report's schedule, on a clock that jumps to the next deadline."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from meters.reports import Reported, lag_of, report
from swagent.meters import Counter, MeterRegistry
from swagent.record.meters.samples import Sample, SingleSample
from swagent.runtime.meter_report import MeterReport

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> MockClock:
    return MockClock(autojump_threshold=0)


@pytest.fixture
def anyio_backend(clock: MockClock) -> Any:
    return "trio", {"clock": clock}


async def run_for(seconds: float, meters: MeterReport) -> None:
    with anyio.move_on_after(seconds):
        await meters.run()


async def test_once_a_period(registry: MeterRegistry) -> None:
    reported = Reported()
    counter = Counter("orders", mode="rate", registry=registry)
    reported.then = counter.increment
    started = anyio.current_time()
    await run_for(110, report(registry, reported, 20.0, lambda: [SingleSample("own", (), 4.0)]))
    assert [at - started for at in reported.times] == [20, 40, 60, 80, 100]
    assert [values[("orders", ())] for values in reported.values] == [0, 1, 1, 1, 1]
    assert {values[("own", ())] for values in reported.values} == {4}


@pytest.mark.parametrize(("period", "after"), [(20.0, 5), (3.0, 1.5)])
async def test_the_process_is_measured_from_some_seconds_on_and_before_the_first_report(
    registry: MeterRegistry, period: float, after: float
) -> None:
    moments: list[float] = []
    reported, started = Reported(), anyio.current_time()
    meters = report(registry, reported, period, measure=lambda: moments.append(anyio.current_time() - started))
    await run_for(after - 0.1, meters)
    assert moments == []
    await run_for(2.5 * period, meters)
    assert moments == [after - 0.1 + after]
    assert len(reported.times) == 2


async def test_late_reports_do_not_shift_the_others_and_missed_ones_are_left_out(
    registry: MeterRegistry, clock: MockClock
) -> None:
    reported = Reported()
    delays = iter([5.0, 0.0, 50.0, 0.0, 0.0, 0.0])
    reported.then = lambda: clock.jump(next(delays))
    started = anyio.current_time()
    await run_for(170, report(registry, reported, 20.0))
    assert [at - started for at in reported.times] == [20, 40, 60, 120, 140, 160]


async def test_a_loop_that_was_held_shows_as_lag(registry: MeterRegistry, clock: MockClock) -> None:
    reported = Reported()

    async def hold_loop() -> None:
        await anyio.sleep(19)
        clock.jump(3)

    async with anyio.create_task_group() as group:
        group.start_soon(hold_loop)
        await run_for(50, report(registry, reported, 20.0))
    assert [round(lag_of(values)) for values in reported.values] == [2000, 0]


async def test_a_source_that_fails_costs_its_own_meters_only(
    registry: MeterRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> list[Sample]:
        raise RuntimeError("broken")

    reported = Reported()
    with caplog.at_level(logging.WARNING, logger="swagent"):
        await run_for(50, report(registry, reported, 20.0, broken, lambda: [SingleSample("own", (), 4.0)]))
    assert [values[("own", ())] for values in reported.values] == [4, 4]
    assert len(caplog.records) == 1
