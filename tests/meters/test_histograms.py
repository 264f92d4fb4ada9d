"""Histograms count each value in the bucket whose bound is the last one not above it."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meters.readings import hits_of, singles, value_of
from swagent.meters import Histogram, MeterRegistry
from swagent.record.meters.samples import Bucket, HistogramSample


def test_a_bound_belongs_to_the_bucket_that_it_opens(registry: MeterRegistry) -> None:
    histogram = Histogram("size", [10, 5], registry=registry)
    for value in (0, 4.9, 5, 9, 10, 10_000):
        histogram.observe(value)
    [sample] = registry.collect()
    buckets = (Bucket(0.0, 2, False), Bucket(5.0, 2, False), Bucket(10.0, 2, False))
    assert sample == HistogramSample("size", (), buckets)


@pytest.mark.parametrize(("buckets", "min_value"), [([0.0], -math.inf), ([-math.inf, 0.0], 0.0)])
def test_a_bucket_without_a_lower_bound(registry: MeterRegistry, buckets: list[float], min_value: float) -> None:
    histogram = Histogram("celsius", buckets, min_value=min_value, registry=registry)
    histogram.observe(-1e300)
    histogram.observe(-0.0)
    [sample] = registry.collect()
    assert sample == HistogramSample("celsius", (), (Bucket(0.0, 1, True), Bucket(0.0, 1, False)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "3", None, 10**400, object()])
def test_an_argument_that_is_no_value_is_ignored_and_counted(registry: MeterRegistry, bad: Any) -> None:
    histogram = Histogram("size", [-math.inf, 5], registry=registry)
    histogram.observe(bad)
    assert hits_of(registry, "size") == [0, 0]
    assert value_of(registry, "swagent_meter_ignored") == 1


@pytest.mark.parametrize(
    ("buckets", "min_value"),
    [([], 0), ([math.nan], 0), ([1, math.inf], 0), ([-1], 0), (["x"], 0), ([None], 0), (5, 0), ([1], math.nan),
     ([1], math.inf), ([1], None), ([10**400], 0), (range(300), 0)],
    ids=str,
)  # fmt: skip
def test_buckets_that_cannot_be_are_refused(registry: MeterRegistry, buckets: Any, min_value: Any) -> None:
    with pytest.raises(ValueError, match="bucket"):
        Histogram("size", buckets, min_value=min_value, registry=registry)
    assert registry.collect() == []


numbers = st.floats(-1e6, 1e6)


@given(st.lists(numbers, min_size=1, max_size=20), numbers, st.lists(numbers, max_size=50))
def test_every_value_is_in_the_one_bucket_that_holds_it(bounds: list[float], low: float, values: list[float]) -> None:
    lowest = min(low, *bounds)
    registry = MeterRegistry()
    histogram = Histogram("size", bounds, min_value=lowest, registry=registry)
    for value in values + bounds:
        histogram.observe(value)
    [sample] = [each for each in registry.collect() if isinstance(each, HistogramSample)]
    starts = [bucket.bound for bucket in sample.buckets]
    assert starts == sorted({lowest, *bounds})
    ends = [*starts[1:], math.inf]
    assert [bucket.hits for bucket in sample.buckets] == [
        sum(start <= value < end for value in values + bounds) for start, end in zip(starts, ends, strict=True)
    ]
    ignored = singles(registry.collect()).get(("swagent_meter_ignored", ()), 0)
    assert ignored == sum(value < lowest for value in values)


@pytest.mark.gate
def test_eight_threads_lose_nothing(registry: MeterRegistry) -> None:
    histogram = Histogram("size", [0.5], registry=registry)

    def observe() -> None:
        for number in range(100_000):
            histogram.observe(number % 2)

    threads = [threading.Thread(target=observe) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hits_of(registry, "size") == [400_000, 400_000]
