"""The meters of an application: Counter, Gauge, Histogram.

They can be made and used anywhere and at any time, with or without a running agent: they belong to the process. A wrong
definition raises at once. Nothing raises after that: a value that is no number is ignored and counted.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Literal, ParamSpec, TypeVar

from .family import Family
from .gauges import Ask, GaugeSeries
from .handle import EventMeter, Meter
from .labels import GivenLabels, check_bounds, check_labels, check_name
from .registry import MeterRegistry
from .series import CounterSeries, HistogramSeries
from .timing import counted

P = ParamSpec("P")
R = TypeVar("R")

REGISTRY = MeterRegistry()
"""The registry of the process. Agents report what is in it."""


class Counter(EventMeter[CounterSeries]):
    """Counts what happens. `Counter("orders", labels={"shop": "north"}).increment()`"""

    def __init__(
        self,
        name: str,
        *,
        labels: GivenLabels = (),
        mode: Literal["increment", "rate"] = "increment",
        registry: MeterRegistry = REGISTRY,
    ) -> None:
        """
        :param mode: report the running total, or what was added since the last report
        :raises ValueError: for a name, label or mode that cannot be used, or a name of a meter of another kind
        """
        if mode not in ("increment", "rate"):
            raise ValueError(f"a counter's mode is 'increment' or 'rate', not {mode!r}")
        make = functools.partial(CounterSeries, is_rate=mode == "rate")
        super().__init__(Family(check_name(name), "counter", mode), check_labels(labels), make, registry)

    def increment(self, value: float = 1.0) -> None:
        """Add a value. One that is no finite number, or is below zero, is ignored. Any thread."""
        self._series.add(value)

    def _record(self, value: float) -> None:
        self._series.add(value)

    def count(self, function: Callable[P, R], /) -> Callable[P, R]:
        """Count the calls of a function or coroutine function, also those that raise: `@counter.count`."""
        return counted(function, self.increment)


class Gauge(Meter[GaugeSeries]):
    """A value that a function gives at each report. `Gauge("queue_length", lambda: len(queue))`"""

    def __init__(self, name: str, ask: Ask, *, labels: GivenLabels = (), registry: MeterRegistry = REGISTRY) -> None:
        """
        :param ask: called in a thread of the agent's, one gauge after the other. If it raises, returns no number, or
            takes longer than a second, this gauge is left out of the report. Making the gauge again replaces it.
        :raises TypeError: for something that cannot be called, or is a coroutine function
        :raises ValueError: for a name or label that cannot be used, or a name of a meter of another kind
        """
        if not callable(ask) or inspect.iscoroutinefunction(ask):
            raise TypeError(f"a gauge needs a plain function that returns its value, not {ask!r}")
        make = functools.partial(GaugeSeries, ask=ask)
        super().__init__(Family(check_name(name), "gauge"), check_labels(labels), make, registry)
        if isinstance(self._series, GaugeSeries):
            self._series.ask = ask  # it may have been there before

    def remove(self) -> None:
        """Stop reporting it, and let go of its function. A second call is harmless."""
        if isinstance(self._series, GaugeSeries):
            self._registry.remove(self._series)


class Histogram(EventMeter[HistogramSeries]):
    """Counts values by size. `Histogram("basket_size", [1, 5, 10, 50]).observe(7)`"""

    def __init__(
        self,
        name: str,
        buckets: Iterable[float],
        *,
        labels: GivenLabels = (),
        min_value: float = 0.0,
        registry: MeterRegistry = REGISTRY,
    ) -> None:
        """
        :param buckets: each bucket's lower bound, itself included; in any order
        :param min_value: the lowest bucket's bound, added where it is missing: values below it are ignored; `-math.inf`
            takes every value
        :raises ValueError: for buckets, a name or a label that cannot be used, or a name of another meter
        """
        family = Family(check_name(name), "histogram", bounds=check_bounds(buckets, min_value))
        make = functools.partial(HistogramSeries, bounds=family.bounds)
        super().__init__(family, check_labels(labels), make, registry)

    def observe(self, value: float) -> None:
        """Count a value. One that is no finite number, or is below the lowest bucket, is ignored. Any thread."""
        self._series.observe(value)

    def _record(self, value: float) -> None:
        self._series.observe(value)
