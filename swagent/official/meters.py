"""Counters, gauges and histograms, each with its builder."""

from __future__ import annotations

import enum
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..agent_log import say
from ..record.meters.definitions import Counter as OwnCounter
from ..record.meters.definitions import Gauge as OwnGauge
from ..record.meters.definitions import Histogram as OwnHistogram

if TYPE_CHECKING:
    from typing_extensions import Self

Tags = Iterable[tuple[str, str]] | None

_built: dict[str, BaseMeter] = {}


class CounterMode(enum.Enum):
    """Whether a counter reports its total, or what was added since its last report."""

    INCREMENT = 1
    RATE = 2


class MeterType(enum.Enum):
    """The kinds of meters."""

    GAUGE = 1
    COUNTER = 2
    HISTOGRAM = 3


class BaseMeter:
    """The base. A meter is reported once it is built."""

    kind: MeterType

    def __init__(self, name: str, tags: Tags = None) -> None:
        self._name = name
        self._tags = dict(tags or ())
        self._own: Any = None

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def get_tag(self, tag_key: str) -> str | None:
        """The value of one of its tags."""
        return self._tags.get(tag_key)

    def get_type(self) -> MeterType:
        """Its kind."""
        return self.kind

    def add_tag(self, name: str, value: object) -> None:
        """Add a tag; not any more once it is built."""
        self._tags[name] = str(value)

    def report(self) -> None:
        """Report it from now on. Where that is impossible, one line says why."""
        try:
            self._own = self._make()
        except (TypeError, ValueError) as error:
            say(logging.WARNING, "the meter %r is not reported: %s", self._name, error)
        _built[self._name] = self

    def _make(self) -> object:
        raise NotImplementedError

    class Builder:
        """Makes a meter in steps: `Builder(…).tag("shop", "north").build()`"""

        meter: Any

        def tag(self, name: str, value: object) -> Self:
            """Add a tag."""
            self.meter.add_tag(name, value)
            return self

        def build(self) -> Any:
            """The meter, which is reported from now on."""
            self.meter.report()
            return self.meter


class _Timer:
    """A block whose seconds are recorded."""

    def __init__(self, record: Callable[[float], object]) -> None:
        self._record = record

    def __enter__(self) -> None:
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._record(time.perf_counter() - self._since)


class Counter(BaseMeter):
    """Counts what happens."""

    kind = MeterType.COUNTER

    def __init__(self, name: str, mode: CounterMode = CounterMode.INCREMENT, tags: Tags = None) -> None:
        super().__init__(name, tags)
        self.mode = mode
        self.count: float = 0
        self._lock = threading.RLock()

    def _make(self) -> OwnCounter:
        is_rate = self.mode is CounterMode.RATE
        own = OwnCounter(self._name, labels=self._tags, mode="rate" if is_rate else "increment")
        own.increment(self.count)
        return own

    def increment(self, value: float) -> None:
        """Add a value."""
        with self._lock:
            self.count += value
        if self._own is not None:
            self._own.increment(value)

    def get(self) -> float:
        """What was added in all."""
        return self.count

    def create_timer(self) -> _Timer:
        """A block whose seconds are added."""
        return _Timer(self.increment)

    @staticmethod
    def timer(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add the seconds of each call of a function to the counter of that name."""
        return lambda function: _recorded(function, name, lambda counter, seconds: counter.increment(seconds))

    @staticmethod
    def increase(name: str, num: float = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add a number to the counter of that name at each call of a function."""
        return lambda function: _recorded(function, name, lambda counter, _: counter.increment(num))

    class Builder(BaseMeter.Builder):
        """Makes a counter in steps."""

        def __init__(self, name: str, mode: CounterMode = CounterMode.INCREMENT, tags: Tags = None) -> None:
            self.meter = Counter(name, mode, tags)

        def mode(self, mode: CounterMode) -> Self:
            """Set its mode."""
            self.meter.mode = mode
            return self


class Gauge(BaseMeter):
    """A value that a generator gives at each report."""

    kind = MeterType.GAUGE

    def __init__(self, name: str, generator: Iterator[Any], tags: Tags = None) -> None:
        super().__init__(name, tags)
        self.generator = generator

    def _make(self) -> OwnGauge:
        return OwnGauge(self._name, self.get, labels=self._tags)

    def get(self) -> Any:
        """The generator's next value; 0 when it is at its end."""
        return next(self.generator, None) or 0

    class Builder(BaseMeter.Builder):
        """Makes a gauge in steps."""

        def __init__(self, name: str, generator: Iterator[Any], tags: Tags = None) -> None:
            self.meter = Gauge(name, generator, tags)


class Histogram(BaseMeter):
    """Counts values by size."""

    kind = MeterType.HISTOGRAM

    def __init__(self, name: str, steps: Iterable[float], min_value: float = 0, tags: Tags = None) -> None:
        """
        :param steps: each bucket's lower bound
        :raises ValueError: there are none, or one is below the lowest value
        """
        super().__init__(name, tags)
        self._steps = sorted({*steps})
        self.min_value = min_value
        if not self._steps or self._steps[0] < min_value:
            raise ValueError("steps must not be empty, nor below the lowest value")

    def _make(self) -> OwnHistogram:
        return OwnHistogram(self._name, self._steps, labels=self._tags, min_value=self.min_value)

    def add_value(self, value: float) -> None:
        """Count a value."""
        if self._own is not None:
            self._own.observe(value)

    def create_timer(self) -> _Timer:
        """A block whose seconds are counted."""
        return _Timer(self.add_value)

    @staticmethod
    def timer(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Count the seconds of each call of a function in the histogram of that name."""
        return lambda function: _recorded(function, name, lambda histogram, seconds: histogram.add_value(seconds))

    class Builder(BaseMeter.Builder):
        """Makes a histogram in steps."""

        def __init__(self, name: str, steps: Iterable[float], min_value: float = 0, tags: Tags = None) -> None:
            self.meter = Histogram(name, steps, min_value, tags)


def _recorded(function: Callable[..., Any], name: str, record: Callable[[Any, float], object]) -> Callable[..., Any]:
    """A function whose calls are recorded in the meter of a name, once there is one."""

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        since = time.perf_counter()
        result = function(*args, **kwargs)
        meter = _built.get(name)
        if meter is not None:
            record(meter, time.perf_counter() - since)
        return result

    return call
