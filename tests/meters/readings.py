"""Reading a registry in tests."""

from __future__ import annotations

from collections.abc import Iterable

from swagent.record.meters.registry import MeterRegistry
from swagent.record.meters.samples import HistogramSample, Labels, Sample, SingleSample

PATIENCE = 5.0
"""Seconds for the gauges of a test, of which a busy machine takes some for itself."""


def singles(samples: Iterable[Sample]) -> dict[tuple[str, Labels], float]:
    """Every value by name and labels, after it was made sure that none comes twice."""
    found = [each for each in samples if isinstance(each, SingleSample)]
    values = {(each.name, each.labels): each.value for each in found}
    assert len(values) == len(found)
    return values


def value_of(registry: MeterRegistry, name: str, labels: Labels = (), *, patience: float = PATIENCE) -> float | None:
    return singles(registry.collect(patience)).get((name, labels))


def hits_of(registry: MeterRegistry, name: str, labels: Labels = ()) -> list[int]:
    [histogram] = [
        each for each in registry.collect(PATIENCE)
        if isinstance(each, HistogramSample) and (each.name, each.labels) == (name, labels)
    ]  # fmt: skip
    return [bucket.hits for bucket in histogram.buckets]
