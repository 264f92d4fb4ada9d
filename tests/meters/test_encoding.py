"""A period's samples become a MeterDataCollection that says the same."""

from __future__ import annotations

import json
import math
from typing import Any

import betterproto
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.pipeline.meter_encoding import encode_meters
from swagent.record.meters.samples import Bucket, HistogramSample, Sample, SingleSample
from swagent_proto import wire, wire_json
from swagent_proto.messages import MeterData, MeterDataCollection

NOW = 1_700_000_000_123
SAMPLES: list[Sample] = [
    SingleSample("orders", (("shop", "north"), ("size", "größer")), 3.5),
    HistogramSample("size", (("kind", "a"),), (Bucket(0.0, 7, True), Bucket(0.0, 2, False), Bucket(2.5, 0, False))),
    SingleSample("zero", (), 0.0),
]


def decoded(samples: list[Sample]) -> list[MeterData]:
    return MeterDataCollection().parse(encode_meters(wire, samples, "shop", "one", NOW)).meter_data


def read(data: MeterData) -> Sample:
    kind, metric = betterproto.which_one_of(data, "metric")
    assert metric is not None
    labels = tuple((label.name, label.value) for label in metric.labels)
    if kind == "single_value":
        return SingleSample(metric.name, labels, metric.value)
    buckets = tuple(Bucket(each.bucket, each.count, each.is_negative_infinity) for each in metric.values)
    return HistogramSample(metric.name, labels, buckets)


def test_every_sample_arrives_and_the_first_alone_says_who_and_when() -> None:
    first, *others = found = decoded(SAMPLES)
    assert [read(each) for each in found] == SAMPLES
    assert (first.service, first.service_instance, first.timestamp) == ("shop", "one", NOW)
    assert {(each.service, each.service_instance, each.timestamp) for each in others} == {("", "", 0)}
    assert decoded([]) == []


def test_json_says_the_same() -> None:
    data: list[dict[str, Any]] = json.loads(encode_meters(wire_json, SAMPLES, "shop", "one", NOW))["meterData"]
    first, histogram, zero = data
    assert first == {
        "singleValue": {"name": "orders", "value": 3.5,
                        "labels": [{"name": "shop", "value": "north"}, {"name": "size", "value": "größer"}]},
        "service": "shop", "serviceInstance": "one", "timestamp": str(NOW),
    }  # fmt: skip
    assert histogram["histogram"]["values"] == [
        {"count": "7", "isNegativeInfinity": True}, {"count": "2"}, {"bucket": 2.5},
    ]  # fmt: skip
    assert zero == {"singleValue": {"name": "zero"}}


def test_a_count_that_does_not_fit_raises() -> None:
    with pytest.raises(ValueError):
        encode_meters(wire, [HistogramSample("size", (), (Bucket(0.0, 2**63, False),))], "shop", "one", NOW)


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=10)
labels = st.lists(st.tuples(names, names), max_size=3).map(tuple)
finite = st.floats(allow_nan=False, allow_infinity=False)
buckets = st.lists(st.builds(Bucket, finite, st.integers(0, 2**63 - 1), st.booleans()), max_size=4).map(tuple)
samples = st.builds(SingleSample, names, labels, finite) | st.builds(HistogramSample, names, labels, buckets)


@pytest.mark.gate
@given(st.lists(samples, max_size=5))
def test_whatever_is_measured_arrives(samples: list[Sample]) -> None:
    for sent, received in zip(samples, decoded(samples), strict=True):
        assert read(received) == sent
        if isinstance(sent, SingleSample) and isinstance(received, SingleSample):
            assert math.copysign(1, sent.value) == math.copysign(1, received.value)
