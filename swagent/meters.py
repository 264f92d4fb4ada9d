"""Meters of an application's own: `from swagent.meters import Counter, Gauge, Histogram`."""

from __future__ import annotations

from .record.meters.definitions import REGISTRY as REGISTRY
from .record.meters.definitions import Counter as Counter
from .record.meters.definitions import Gauge as Gauge
from .record.meters.definitions import Histogram as Histogram
from .record.meters.registry import MeterRegistry as MeterRegistry
