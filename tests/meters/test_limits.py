"""However many meters an application makes, memory and report stay bounded, and what found no room shows."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from faults.covering import covers
from meters.readings import hits_of, singles, value_of
from swagent.meters import Counter, Gauge, Histogram, MeterRegistry
from swagent.pipeline.meter_encoding import encode_meters
from swagent.record.meters.labels import OVERFLOW
from swagent.signals import MIB
from swagent_proto import wire

pytestmark = covers("D03")


def test_series_beyond_the_limit_are_counted_together() -> None:
    registry = MeterRegistry(limit=3)
    orders = Counter("orders", registry=registry)
    sizes = Histogram("size", [5], registry=registry)
    for number in range(10):
        orders.labels(user=number).increment(2)
        sizes.labels(user=number).observe(number)
    values = singles(registry.collect())
    assert values == {("orders", (("user", "0"),)): 2, ("orders", OVERFLOW): 18}
    assert hits_of(registry, "size", OVERFLOW) == [5, 5]


def test_meters_beyond_the_limit_are_counted_by_kind() -> None:
    registry = MeterRegistry(limit=1)
    Counter("first", registry=registry)
    for number in range(4):
        counter = Counter(f"counter{number}", registry=registry)
        counter.increment(7)
        counter.labels(a=1).increment(7)
        Gauge(f"gauge{number}", lambda: 1, registry=registry).remove()
    Histogram("histogram", [1], registry=registry).observe(7)
    values = singles(registry.collect())
    kinds = {labels[1][1]: value for (name, labels), value in values.items() if name == "swagent_meter_overflow"}
    assert kinds == {"counter": 8, "gauge": 4, "histogram": 1}
    assert all(labels[0] == OVERFLOW[0] for name, labels in values if name == "swagent_meter_overflow")


def test_existing_series_stay_when_the_limit_falls() -> None:
    registry = MeterRegistry()
    counters = [Counter(f"counter{number}", registry=registry) for number in range(5)]
    registry.limit = 2
    for counter in counters:
        counter.increment()
    assert len(registry.collect()) == 5
    Counter("counter4", registry=registry).increment()
    assert value_of(registry, "counter4") == 2


def test_a_meter_that_found_no_room_never_raises_afterwards() -> None:
    registry = MeterRegistry(limit=1)
    Counter("first", registry=registry)
    late = Counter("late", registry=registry)
    registry.limit = 10
    Histogram("late", [1], registry=registry)
    late.labels(a=1).increment()
    assert value_of(registry, "swagent_meter_overflow", (("_overflow", "true"), ("kind", "counter"))) == 1


@pytest.mark.slow
def test_a_million_names_take_the_memory_of_two_thousand() -> None:
    registry = MeterRegistry()
    tracemalloc.start()
    try:
        labelled = Counter("labelled", registry=registry)
        for number in range(2_000):
            labelled.labels(user=number).increment()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()  # it makes everything slow; what is kept shows in the registry's own size too
        for number in range(500_000):
            labelled.labels(user=number).increment()
            Counter(f"name{number}", registry=registry).increment()
    finally:
        tracemalloc.stop()
    assert before < 4 * MIB
    samples = registry.collect()
    assert len(samples) <= 2_000 + 2
    assert sum(singles(samples).values()) == 2_000 + 1_000_000


def test_the_largest_report_fits_its_channel() -> None:
    registry = MeterRegistry(limit=1_000_000)
    sizes = Histogram("s" * 128, range(1, 200), registry=registry)
    sizes.observe(1)
    orders = Counter("o" * 128, registry=registry)
    for number in range(3_000):
        labels = {f"{name}" * 60: f"{number}" + "€" * 200 for name in "abcd"}
        orders.labels(**labels).increment()
        sizes.labels(user=number).observe(1)
    report = encode_meters(wire, registry.collect(), "s" * 100, "i" * 100, 1_700_000_000_000)
    assert MIB // 2 < len(report) < 2 * MIB
