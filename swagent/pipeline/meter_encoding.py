"""The meters of one period become one record: a MeterDataCollection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..record.meters.samples import HistogramSample, Labels, Sample

# A little more than there are series by default. The labels of a series are the same in every period, and encoding them
# would take most of the time for which a report holds the loop.
_MOST_LABELS = 2500


def encode_meters(wire: Any, samples: Sequence[Sample], service: str, instance: str, now_ms: int) -> Any:
    """A MeterDataCollection. Only its first element has the instance and the time: the collector takes all elements
    as one input set.

    :param wire: the codec, one of the two generated modules
    :param now_ms: milliseconds since the epoch
    :raises ValueError: when a number does not fit its field
    """
    origins = [(service, instance, now_ms), *[("", "", 0)] * (len(samples) - 1)]
    return wire.meter_data_collection(
        [wire.meter_data(*_metric(wire, sample), *origin) for sample, origin in zip(samples, origins, strict=False)]
    )


def _metric(wire: Any, sample: Sample) -> tuple[Any, Any]:
    """The two branches of the `metric` union: single value and histogram."""
    if isinstance(sample, HistogramSample):
        buckets = [wire.meter_bucket_value(*bucket) for bucket in sample.buckets]
        return None, wire.meter_histogram(sample.name, _labels(wire, sample.labels), buckets)
    return wire.meter_single_value(sample.name, _labels(wire, sample.labels), sample.value), None


@lru_cache(_MOST_LABELS)
def _labels(wire: Any, labels: Labels) -> Sequence[Any]:
    return [wire.label(name, value) for name, value in labels]
