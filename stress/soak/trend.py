"""The slope of a series that has outliers, and its beginning against its end. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

_MOST_POINTS = 300


def theil_sen(times: Sequence[float], values: Sequence[float]) -> float:
    """The median of the slopes between every two points: what a few outliers cannot bend.

    Of a long series so many points are taken that the pairs can be counted; the others between them say the same.

    :returns: values per unit of time; 0 for less than two points
    """
    step = max(1, -(-len(times) // _MOST_POINTS))
    points = list(zip(times, values, strict=True))[::step]
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for index, earlier in enumerate(points)
        for later in points[index + 1 :]
        if later[0] > earlier[0]
    ]
    return median(slopes) if slopes else 0.0


def quarter_growth(values: Sequence[float]) -> float:
    """How much higher the median of the last quarter is than that of the first."""
    size = len(values) // 4
    return median(values[-size:]) - median(values[:size]) if size else 0.0
