"""From a metric of OTLP to values of series; pure.

A histogram's buckets are named by their lower bounds here, and by their upper bounds there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...store.records import Meter
from .origin import Origin
from .values import texts_of

_MILLISECOND = 1_000_000
_NO_VALUE = 1
Buckets = tuple[tuple[float, int], ...]


def meters_of(origin: Origin, metric: Any) -> Iterator[Meter]:
    """A value for each point, or several of a summary."""
    data = metric.WhichOneof("data")
    if data is None:
        return
    for point in getattr(metric, data).data_points:
        if point.flags & _NO_VALUE:
            continue
        labels = tuple(texts_of(point.attributes).items())
        at = point.time_unix_nano // _MILLISECOND
        if data in ("gauge", "sum"):
            kind = point.WhichOneof("value")
            if kind is not None:
                yield _meter(origin, metric.name, labels, at, value=float(getattr(point, kind)))
        elif data == "summary":
            for each in point.quantile_values:
                quantile = (*labels, ("quantile", f"{each.quantile:g}"))
                yield _meter(origin, metric.name, quantile, at, value=each.value)
        else:
            buckets = _explicit(point) if data == "histogram" else _exponential(point)
            yield _meter(origin, metric.name, labels, at, buckets=buckets)


def _meter(
    origin: Origin,
    name: str,
    labels: tuple[tuple[str, str], ...],
    at: int,
    *,
    value: float | None = None,
    buckets: Buckets | None = None,
) -> Meter:
    return Meter(origin.service, origin.instance, name, labels, at, value, buckets)


def _explicit(point: Any) -> Buckets:
    if not point.bucket_counts:
        return ((-math.inf, point.count),)
    bounds = (-math.inf, *point.explicit_bounds)
    if len(bounds) != len(point.bucket_counts):
        raise ValueError(f"a histogram has {len(point.bucket_counts)} buckets and {len(bounds) - 1} bounds")
    return tuple(zip(bounds, point.bucket_counts, strict=True))


def _exponential(point: Any) -> Buckets:
    """Their bounds are the powers of a base."""
    growth = math.ldexp(1.0, -point.scale) if -1000 < point.scale < 1000 else 1.0

    def bound(index: int) -> float:
        exponent = growth * index
        return 2.0**exponent if -1074 <= exponent < 1024 else (math.inf if exponent > 0 else 0.0)

    found: dict[float, int] = {}
    for place, count in enumerate(point.negative.bucket_counts):
        lower = -bound(point.negative.offset + place + 1)
        found[lower] = found.get(lower, 0) + count
    found[-point.zero_threshold] = found.get(-point.zero_threshold, 0) + point.zero_count
    for place, count in enumerate(point.positive.bucket_counts):
        lower = bound(point.positive.offset + place)
        found[lower] = found.get(lower, 0) + count
    return tuple(sorted((lower, count) for lower, count in found.items() if count))
