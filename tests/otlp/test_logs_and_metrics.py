"""Log records and meters of SkyWalking's become records and metrics of OTLP, judged by the official package."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2

from kit.otlp import attributes_of
from otlp.samples import SEGMENT, TRACE
from swagent.w3c_ids import span_id_of
from swagent_proto import wire
from swagent_transports._otlp_logs import logs_of
from swagent_transports._otlp_metrics import metrics_of

AT, LATE = 1_700_000_000_123, 4_000_000_000_000


def encoded(
    text: str = "no such order", *, tags: list[tuple[str, str]] | None = None, trace: str = TRACE, form: str = "text"
) -> bytes:
    bodies = {
        "text": (wire.text_log(text), None, None),
        "json": (None, wire.json_log(text), None),
        "yaml": (None, None, wire.yaml_log(text)),
    }
    body = wire.log_data_body(form, *bodies[form])
    place = wire.trace_context(trace, SEGMENT, 2) if trace else None
    tags = [("level", "WARNING"), ("logger", "shop.orders"), ("thread", "MainThread")] if tags is None else tags
    return wire.log_data(AT, "shop", "shop-1", "GET:/orders", body, place, wire.log_tags(tags), "")


def one(record: bytes) -> Any:
    origin, (found,) = logs_of(record)
    assert origin == ("shop", "shop-1")
    return logs_pb2.LogRecord.FromString(found)


def test_a_record_under_its_span() -> None:
    found = one(encoded())
    assert (found.time_unix_nano, found.observed_time_unix_nano) == (AT * 1_000_000, AT * 1_000_000)
    assert (found.trace_id.hex(), found.span_id, found.flags) == (TRACE, span_id_of(SEGMENT, 2), 1)
    assert (found.severity_number, found.severity_text) == (logs_pb2.SEVERITY_NUMBER_WARN, "WARNING")
    assert found.body.string_value == "no such order"
    assert attributes_of(found) == {
        "logger.name": "shop.orders",
        "thread.name": "MainThread",
        "skywalking.endpoint": "GET:/orders",
    }


@pytest.mark.parametrize("form", ["text", "json", "yaml"])
def test_each_form_of_a_body(form: str) -> None:
    assert one(encoded("{}", form=form)).body.string_value == "{}"


@pytest.mark.parametrize(
    ("level", "number"), [("DEBUG", 5), ("INFO", 9), ("ERROR", 17), ("CRITICAL", 21), ("Level 35", 0)]
)
def test_severities(level: str, number: int) -> None:
    found = one(encoded(tags=[("level", level)]))
    assert (found.severity_number, found.severity_text) == (number, level)


def test_a_record_in_parts_is_merged() -> None:
    """The agent puts records together from parts: protobuf merges messages that follow one another."""
    whole = encoded()
    type_alone = wire.log_data(0, "", "", "", wire.log_data_body("text", None, None, None), None, None, "")
    assert one(type_alone + whole) == one(whole)


def value(name: str, number: float, **labels: str) -> tuple[bytes, None]:
    return wire.meter_single_value(name, [wire.label(*each) for each in labels.items()], number), None


def histogram(name: str, *buckets: tuple[float, int, bool]) -> tuple[None, bytes]:
    encoded = [wire.meter_bucket_value(*each) for each in buckets]
    return None, wire.meter_histogram(name, [wire.label("a", "b")], encoded)


def metrics(*data: Any) -> list[Any]:
    origins = [("shop", "shop-1", LATE), *[("", "", 0)] * (len(data) - 1)]
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
    assert (zero.WhichOneof("value"), zero.as_double, zero.time_unix_nano) == ("as_double", 0.0, LATE * 1_000_000)


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
