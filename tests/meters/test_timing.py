"""Timers and decorators measure, and change nothing else."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Generator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from meters.readings import hits_of, value_of
from swagent.meters import Counter, Histogram, MeterRegistry
from swagent.record.meters import timing as meter_timing


class Clock:
    """Each look at it is a quarter of a second later."""

    now = 100.0

    def perf_counter(self) -> float:
        self.now += 0.25
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter_timing, "time", Clock())


@pytest.fixture
def counter(registry: MeterRegistry) -> Counter:
    return Counter("spent", registry=registry)


def test_a_timer_adds_seconds_or_milliseconds_to_a_counter_or_a_histogram(
    registry: MeterRegistry, counter: Counter
) -> None:
    histogram = Histogram("took", [0.2, 0.3], registry=registry)
    with histogram.timer(), counter.timer():
        pass
    with counter.timer():
        pass
    assert value_of(registry, "spent") == 0.5
    with counter.timer(unit="ms"):
        pass
    assert value_of(registry, "spent") == 250.5
    assert hits_of(registry, "took") == [0, 0, 1]


def test_a_body_that_raises_is_measured_and_raises_on(registry: MeterRegistry, counter: Counter) -> None:
    with pytest.raises(ZeroDivisionError), counter.timer():
        _ = 1 / 0
    assert value_of(registry, "spent") == 0.25


def test_another_unit_is_refused_at_once(counter: Counter) -> None:
    unit: Any = "h"
    with pytest.raises(ValueError, match="unit"):
        counter.timer(unit=unit)
    with pytest.raises(ValueError, match="unit"):
        counter.timed(unit=unit)(len)


def test_a_function_is_timed_and_counted(registry: MeterRegistry, counter: Counter) -> None:
    calls = Counter("calls", registry=registry)

    @calls.count
    @counter.timed
    def add(left: int, *, right: int = 1) -> int:
        """Add."""
        return left + right

    assert (add(1), add(1, right=2)) == (2, 3)
    with pytest.raises(TypeError):
        add("1")  # type: ignore[arg-type]
    assert value_of(registry, "calls") == 3
    assert value_of(registry, "spent") == 0.75
    assert (add.__name__, add.__doc__) == ("add", "Add.")
    assert list(inspect.signature(add).parameters) == ["left", "right"]


def test_the_unit_of_a_decorator(registry: MeterRegistry) -> None:
    histogram = Histogram("took", [200, 300], registry=registry)

    @histogram.timed(unit="ms")
    def work() -> str:
        return "done"

    assert work() == "done"
    assert hits_of(registry, "took") == [0, 1, 0]


@pytest.mark.anyio
async def test_a_coroutine_function_is_timed_and_counted_as_it_is_awaited(
    registry: MeterRegistry, counter: Counter
) -> None:
    calls = Counter("calls", registry=registry)

    @calls.count
    @counter.timed
    async def work() -> str:
        await anyio.lowlevel.checkpoint()
        return "done"

    assert inspect.iscoroutinefunction(work)
    waiting = work()
    assert value_of(registry, "calls") == 0
    assert await waiting == "done"
    assert (value_of(registry, "calls"), value_of(registry, "spent")) == (1, 0.25)


@pytest.mark.anyio
async def test_a_cancelled_coroutine_is_measured_and_stays_cancelled(registry: MeterRegistry, counter: Counter) -> None:
    @counter.timed
    async def work() -> None:
        await anyio.sleep_forever()

    with anyio.move_on_after(0.01) as scope:
        await work()
    assert scope.cancelled_caught
    assert value_of(registry, "spent") == 0.25


def test_a_generators_call_cannot_be_timed(counter: Counter) -> None:
    def generate() -> Generator[int, None, None]:
        yield 1

    async def generate_async() -> AsyncGenerator[int, None]:
        yield 1

    for function in (generate, generate_async):
        with pytest.raises(TypeError, match="generator"):
            counter.timed(function)
    assert list(counter.count(generate)()) == [1]
