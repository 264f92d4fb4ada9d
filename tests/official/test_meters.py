"""Meters by the official agent's builders: what of them is reported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swagent.official import meters
from swagent.official.meters import Counter, CounterMode, Gauge, Histogram, MeterType
from swagent.record.meters.definitions import REGISTRY
from swagent.record.meters.samples import HistogramSample, SingleSample


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    """A gauge that stays is asked, in a thread, by the agents of other tests."""
    known = REGISTRY._all()
    yield
    for series in REGISTRY._all():
        if not any(series is each for each in known):
            REGISTRY.remove(series)
    meters._built.clear()


def single(name: str) -> tuple[float, tuple[tuple[str, str], ...]]:
    (sample,) = (each for each in REGISTRY.collect(10.0) if each.name == name)
    assert isinstance(sample, SingleSample)
    return sample.value, sample.labels


def test_a_counter_is_reported_with_its_tags_once_it_is_built() -> None:
    builder = Counter.Builder("official_orders", CounterMode.INCREMENT).tag("shop", "north")
    counter = builder.build()
    counter.increment(2)

    @Counter.increase("official_orders", num=3)
    def order() -> str:
        return "ordered"

    assert order() == "ordered"
    assert counter.get() == 5
    assert counter.get_type() is MeterType.COUNTER
    assert counter.get_tag("shop") == "north"
    assert single("official_orders") == (5.0, (("shop", "north"),))


def test_a_counter_of_the_mode_rate_reports_what_was_added() -> None:
    counter = Counter.Builder("official_rate", CounterMode.INCREMENT).mode(CounterMode.RATE).build()
    counter.increment(2)
    assert single("official_rate")[0] == 2.0
    counter.increment(1)
    assert single("official_rate")[0] == 1.0


def test_a_gauge_is_asked_by_its_generator() -> None:
    Gauge.Builder("official_queue", iter([7])).build()
    assert single("official_queue")[0] == 7.0
    assert single("official_queue")[0] == 0.0


def test_a_histogram_counts_values_and_seconds() -> None:
    histogram = Histogram.Builder("official_basket", [5, 1]).tag("shop", "north").build()
    histogram.add_value(3)
    with histogram.create_timer():
        pass

    @Histogram.timer("official_basket")
    def work() -> int:
        return 1

    assert work() == 1
    (sample,) = (each for each in REGISTRY.collect(10.0) if each.name == "official_basket")
    assert isinstance(sample, HistogramSample)
    assert sum(bucket.hits for bucket in sample.buckets) == 3
    with pytest.raises(ValueError, match="steps"):
        Histogram("official_nothing", [])


def test_a_meter_whose_name_another_kind_has_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    Counter.Builder("official_twice").build()
    histogram = Histogram.Builder("official_twice", [1]).build()
    histogram.add_value(1)
    assert "'official_twice' is not reported" in caplog.text
