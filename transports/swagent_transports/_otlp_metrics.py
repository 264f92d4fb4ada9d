"""From SkyWalking's meters to the metrics of OTLP. Pure.

A single value is a gauge: SkyWalking's protocol does not say whether it is a counter's running total. A histogram
counts from the start of the process. Its buckets are named by their lower bounds there, and by their upper bounds here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from swagent_proto import otlp_wire
from swagent_proto.otlp_values import attribute

from ._otlp_reading import Message, double, integer, nested, pairs, read, text
from ._otlp_resource import Origin

_NANOSECONDS = 1_000_000
_CUMULATIVE = 2
# All counts began later, those of a forked child too.
_STARTED = time.time_ns()


def metrics_of(record: bytes) -> tuple[Origin, list[bytes]]:
    """The metrics of an encoded MeterDataCollection, and where they come from; of several series one metric.

    :raises ValueError: when it is none
    """
    elements = [read(each) for each in read(record).get(1, ())]
    first: Message = elements[0] if elements else {}
    at = integer(first, 5) * _NANOSECONDS
    values: dict[str, list[bytes]] = {}
    histograms: dict[str, list[bytes]] = {}
    for element in elements:
        if 1 in element:
            value = nested(element, 1)
            point = otlp_wire.number_data_point(0, at, double(value, 3), None, _labels(value), 0)
            values.setdefault(text(value, 1), []).append(point)
        elif 2 in element:
            histogram = nested(element, 2)
            histograms.setdefault(text(histogram, 1), []).append(_point(histogram, at))
    metrics = [_metric(name, gauge=otlp_wire.gauge(points)) for name, points in values.items()]
    metrics += [
        _metric(name, histogram=otlp_wire.histogram(points, _CUMULATIVE)) for name, points in histograms.items()
    ]
    return (text(first, 3), text(first, 4)), metrics


def _metric(name: str, **data: bytes) -> bytes:
    return otlp_wire.metric(name, "", "", data.get("gauge"), None, data.get("histogram"), None, None)


def _labels(metric: Message) -> Sequence[bytes]:
    return [attribute(key, value) for key, value in pairs(metric.get(2, ()))]


def _point(histogram: Message, at: int) -> bytes:
    buckets: list[tuple[float, int]] = []
    below = 0
    for each in map(read, histogram.get(3, ())):
        if integer(each, 3):
            below += integer(each, 2)
        else:
            buckets.append((double(each, 1), integer(each, 2)))
    buckets.sort()
    counts = [below, *(count for _, count in buckets)]
    bounds = [bound for bound, _ in buckets]
    start = min(_STARTED, at)
    return otlp_wire.histogram_data_point(
        start, at, sum(counts), None, counts, bounds, _labels(histogram), 0, None, None
    )
