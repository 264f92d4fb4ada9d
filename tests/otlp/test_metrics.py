"""Meters of SkyWalking's become metrics of OTLP, judged by the official package."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.metrics.v1 import metrics_pb2

from kit.otlp import attributes_of
from swagent_proto import wire
from swagent_transports._otlp_metrics import metrics_of

AT = 4_000_000_000_000


def value(name: str, number: float, **labels: str) -> tuple[bytes, None]:
    return wire.meter_single_value(name, [wire.label(*each) for each in labels.items()], number), None


def histogram(name: str, *buckets: tuple[float, int, bool]) -> tuple[None, bytes]:
    encoded = [wire.meter_bucket_value(*each) for each in buckets]
    return None, wire.meter_histogram(name, [wire.label("a", "b")], encoded)


def metrics(*data: Any) -> list[Any]:
    origins = [("shop", "shop-1", AT), *[("", "", 0)] * (len(data) - 1)]
    elements = [wire.meter_data(each[0], each[1], *origin) for each, origin in zip(data, origins, strict=True)]
    origin, found = metrics_of(wire.meter_data_collection(elements))
    assert origin == ("shop", "shop-1")
    return [metrics_pb2.Metric.FromString(each) for each in found]


def test_values_are_gauges_with_a_point_for_each_series() -> None:
    orders, queue = metrics(
        value("orders", 3.0, status="paid"), value("queue", 0.0), value("orders", 4.5, status="new")
    )
    assert (orders.name, queue.name) == ("orders", "queue")
    assert [(point.as_double, attributes_of(point)) for point in orders.gauge.data_points] == [
        (3.0, {"status": "paid"}),
        (4.5, {"status": "new"}),
    ]
    (zero,) = queue.gauge.data_points
    assert (zero.WhichOneof("value"), zero.as_double, zero.time_unix_nano) == ("as_double", 0.0, AT * 1_000_000)


def test_a_histogram_has_its_bounds_on_the_other_side() -> None:
    (found,) = metrics(histogram("basket", (5.0, 2, False), (1.0, 7, False), (10.0, 1, False)))
    (point,) = found.histogram.data_points
    assert found.histogram.aggregation_temporality == metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
    assert (list(point.explicit_bounds), list(point.bucket_counts)) == ([1.0, 5.0, 10.0], [0, 7, 2, 1])
    assert (point.count, point.HasField("sum"), attributes_of(point)) == (10, False, {"a": "b"})
    assert 0 < point.start_time_unix_nano <= point.time_unix_nano


def test_what_is_below_all_bounds_is_counted() -> None:
    (found,) = metrics(histogram("shift", (0.0, 4, True), (0.0, 6, False)))
    (point,) = found.histogram.data_points
    assert (list(point.explicit_bounds), list(point.bucket_counts), point.count) == ([0.0], [4, 6], 10)


def test_an_empty_collection_has_no_metrics() -> None:
    assert metrics_of(b"") == (("", ""), [])
