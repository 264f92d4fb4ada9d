"""OTLP as the .proto files here have it, and as the official package has it; the encoders against that package."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.protobuf import descriptor_pb2  # type: ignore[import-untyped, unused-ignore]
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from swagent_proto import otlp_wire
from swagent_proto.otlp_descriptors import FILES
from swagent_proto.otlp_values import attribute, text_value
from swagent_proto.text import clean
from wire.facts import facts_of

OFFICIAL = (
    *(common_pb2, resource_pb2, trace_pb2, logs_pb2, metrics_pb2),
    *(trace_service_pb2, logs_service_pb2, metrics_service_pb2),
)


def official_files() -> list[Any]:
    found = []
    for module in OFFICIAL:
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        found.append(file)
    return found


def test_each_field_is_as_in_the_official_files() -> None:
    ours = facts_of(descriptor_pb2.FileDescriptorSet.FromString(FILES).file)
    official = facts_of(official_files())
    assert len(ours) > 140
    assert {name: fact for name, fact in ours.items() if official.get(name) != fact} == {}


TEXTS = st.text(max_size=200)
VALUES = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats())


@given(TEXTS, VALUES)
def test_attributes(key: str, value: str | float | bool) -> None:
    read = common_pb2.KeyValue.FromString(attribute(key, value))
    kind = read.value.WhichOneof("value")
    got = getattr(read.value, kind)
    assert read.key == clean(key)
    if isinstance(value, float) and math.isnan(value):
        assert math.isnan(got)
    else:
        assert (got, type(got)) == (clean(value) if isinstance(value, str) else value, type(value))


def test_values_that_are_defaults_are_set() -> None:
    assert common_pb2.AnyValue.FromString(text_value("")).WhichOneof("value") == "string_value"
    assert common_pb2.KeyValue.FromString(attribute("a", 2**70)).value.string_value == str(2**70)


@given(st.data())
def test_a_span_reads_as_it_was_written(data: st.DataObject) -> None:
    ids, numbers = st.binary(min_size=8, max_size=16), st.integers(0, 2**64 - 1)
    key = attribute("a", "b")
    event = otlp_wire.span_event(data.draw(numbers), "said", [key], 3)
    link = otlp_wire.span_link(b"1" * 16, b"2" * 8, "s=t", [key], 1, 0x301)
    trace, span, parent = data.draw(ids), data.draw(ids), data.draw(ids | st.just(b""))
    begin, end, flags = data.draw(numbers), data.draw(numbers), data.draw(st.integers(0, 2**32 - 1))
    status = otlp_wire.status("bad", 2)
    encoded = otlp_wire.span(
        trace, span, "state", parent, "name", 3, begin, end, [key, key], 1, [event], 2, [link], 3, status, flags
    )
    read = trace_pb2.Span.FromString(encoded)
    assert (read.trace_id, read.span_id, read.parent_span_id, read.name, read.kind) == (trace, span, parent, "name", 3)
    assert (read.start_time_unix_nano, read.end_time_unix_nano, read.flags) == (begin, end, flags)
    assert (len(read.attributes), read.dropped_attributes_count) == (2, 1)
    assert (read.events[0].name, read.dropped_events_count, read.events[0].dropped_attributes_count) == ("said", 2, 3)
    assert (read.links[0].trace_state, read.links[0].flags, read.dropped_links_count) == ("s=t", 0x301, 3)
    assert (read.status.code, read.status.message, read.trace_state) == (2, "bad", "state")
    assert read.SerializeToString(deterministic=True) == encoded


def test_points_read_as_they_were_written() -> None:
    key = attribute("a", 1)
    point = otlp_wire.number_data_point(0, 5, 0.0, None, [key], 0)
    metric = otlp_wire.metric("m", "", "1", None, otlp_wire.sum([point], 2, True), None, None, None)
    read = metrics_pb2.Metric.FromString(metric)
    (got,) = read.sum.data_points
    assert (got.WhichOneof("value"), got.as_double, got.time_unix_nano) == ("as_double", 0.0, 5)
    assert (read.sum.is_monotonic, read.sum.aggregation_temporality) == (True, 2)
    whole = otlp_wire.histogram_data_point(1, 2, 3, None, [1, 0, 2], [-1.0, 0.5], [], 0, None, 0.0)
    histogram = metrics_pb2.HistogramDataPoint.FromString(whole)
    assert (list(histogram.bucket_counts), list(histogram.explicit_bounds)) == ([1, 0, 2], [-1.0, 0.5])
    assert (histogram.HasField("sum"), histogram.HasField("max")) == (False, True)
    assert histogram.SerializeToString(deterministic=True) == whole


@pytest.mark.parametrize("value", [-1, 2**70])
def test_a_count_that_does_not_fit_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        otlp_wire.resource([], value if value > 0 else -(2**70))
