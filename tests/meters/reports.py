"""A place that reports go to, in tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio

from meters.readings import singles
from swagent.agent_log import RateLimitedLog
from swagent.meters import MeterRegistry
from swagent.record.meters.samples import Sample
from swagent.runtime.meter_report import MeterReport, Source


class Reported:
    """Takes reports, and notes when."""

    def __init__(self) -> None:
        self.values: list[dict[Any, float]] = []
        self.times: list[float] = []
        self.then: Callable[[], object] = lambda: None

    def offer(self, samples: Sequence[Sample]) -> None:
        self.values.append(singles(samples))
        self.times.append(anyio.current_time())
        self.then()


def report(
    registry: MeterRegistry,
    reported: Reported,
    period: float,
    *sources: Source,
    measure: Callable[[], object] = lambda: None,
) -> MeterReport:
    return MeterReport(registry, sources, reported.offer, period, RateLimitedLog(), measure)


def lag_of(values: dict[Any, float]) -> float:
    return values[("swagent_loop_lag", ())]
