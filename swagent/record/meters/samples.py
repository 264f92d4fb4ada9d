"""The value of one meter at one moment, as the report takes it."""

from __future__ import annotations

import math
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Name and value pairs, sorted by name; no name twice."""


class SingleSample(NamedTuple):
    """A counter's or a gauge's value."""

    name: str
    labels: Labels
    value: float


class Bucket(NamedTuple):
    """How many values fell between this bucket's bound and the next one's."""

    bound: float
    """The lower bound, included; 0 where there is none."""
    hits: int
    is_negative_infinity: bool
    """Whether there is no lower bound."""


class HistogramSample(NamedTuple):
    """A histogram's buckets, the lowest first."""

    name: str
    labels: Labels
    buckets: tuple[Bucket, ...]


Sample = SingleSample | HistogramSample


def bucket(bound: float, hits: int) -> Bucket:
    """A bucket from its lower bound, which may be minus infinity."""
    return Bucket(0.0, hits, True) if bound == -math.inf else Bucket(bound, hits, False)
