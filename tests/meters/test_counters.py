"""Counters add up, exactly, whoever counts."""

from __future__ import annotations

import math
import signal
import threading
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meters.readings import singles, value_of
from swagent.meters import REGISTRY, Counter, MeterRegistry


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [([], 0), ([1, 2.5], 3.5), ([Decimal("0.5"), True], 1.5), ([1.7e308, 1.7e308], 1.7e308)],
    ids=["from its definition on", "any number", "other numbers", "it never becomes infinite"],
)
def test_a_counter_reports_its_running_total(registry: MeterRegistry, amounts: list[Any], expected: float) -> None:
    counter = Counter("orders", registry=registry)
    for each in amounts:
        counter.increment(each)
    for _ in range(2):
        assert value_of(registry, "orders") == expected, "a running total does not start anew"


def test_a_rate_is_what_came_since_the_last_report(registry: MeterRegistry) -> None:
    counter = Counter("orders", mode="rate", registry=registry)
    reports: list[float | None] = []
    for amount in (3, 0, 4):
        counter.increment(amount)
        reports.append(value_of(registry, "orders"))
    assert reports == [3, 0, 4]


def test_without_a_registry_named_it_belongs_to_the_process() -> None:
    counter = Counter("test_counters_of_the_process")
    counter.increment()
    assert value_of(REGISTRY, "test_counters_of_the_process") == 1


def test_made_again_it_is_the_same(registry: MeterRegistry) -> None:
    Counter("orders", labels={"shop": "north", "size": 1}, registry=registry).increment()
    Counter("orders", labels=[("size", "1"), ("shop", "north")], registry=registry).increment()
    assert value_of(registry, "orders", (("shop", "north"), ("size", "1"))) == 2


class Hostile:
    def __float__(self) -> float:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, -1, -0.5, "3", b"3", None, [], 10**400, object(), Hostile()]
)
def test_a_value_that_is_no_amount_is_ignored_and_counted(registry: MeterRegistry, bad: Any) -> None:
    counter = Counter("orders", registry=registry)
    counter.increment(2)
    counter.increment(bad)
    assert singles(registry.collect()) == {("orders", ()): 2, ("swagent_meter_ignored", ()): 1}


@given(st.lists(st.floats(0, 1e15) | st.integers(0, 10**15) | st.just(None)), st.sampled_from(["increment", "rate"]))
def test_the_reports_add_up(steps: list[float | None], mode: Any) -> None:
    """None is a report; everything else an amount."""
    registry = MeterRegistry()
    counter = Counter("orders", mode=mode, registry=registry)
    said = 0.0
    for step in steps:
        if step is None:
            reported = value_of(registry, "orders")
            assert reported is not None
            said = said + reported if mode == "rate" else reported
        else:
            counter.increment(step)
    last = value_of(registry, "orders")
    assert last is not None
    total = said + last if mode == "rate" else last
    expected = math.fsum(step for step in steps if step is not None)
    assert math.isclose(total, expected, rel_tol=1e-9)


@pytest.mark.gate
def test_eight_threads_lose_nothing(registry: MeterRegistry) -> None:
    counter = Counter("orders", registry=registry)
    rate = Counter("rate", mode="rate", registry=registry)
    rates: list[float] = []

    def count() -> None:
        for _ in range(100_000):
            counter.increment()
            rate.increment()

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        rates.append(value_of(registry, "rate") or 0)
    rates.append(value_of(registry, "rate") or 0)
    assert value_of(registry, "orders") == 800_000
    assert sum(rates) == 800_000


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_a_signal_handler_may_count_what_its_thread_is_counting(registry: MeterRegistry) -> None:
    counter = Counter("orders", registry=registry)
    handled = 0

    def handle(*_: object) -> None:
        nonlocal handled
        handled += 1
        counter.increment()

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(300_000):
            counter.increment()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled
    assert value_of(registry, "orders") == 300_000 + handled


@pytest.mark.parametrize("mode", ["", "RATE", None, 3])
def test_another_mode_is_refused(mode: Any) -> None:
    with pytest.raises(ValueError, match="increment"):
        Counter("orders", mode=mode, registry=MeterRegistry())
