"""Meters of an application's own: `from swagent.meters import Counter, Gauge, Histogram`."""

from __future__ import annotations

from .record.meter_registry import MeterRegistry as MeterRegistry
from .record.meters import REGISTRY as REGISTRY
from .record.meters import Counter as Counter
from .record.meters import Gauge as Gauge
from .record.meters import Histogram as Histogram
