"""The application's side of a meter: a name and labels, and the series that they identify."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from typing_extensions import Self

from .family import Family, Stray
from .labels import with_labels
from .registry import MeterRegistry
from .samples import Labels
from .series import Series
from .timing import Timer, Unit, timed

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Series)


class Meter(Generic[S]):
    """A name and labels, and the series that they identify. Two of the same name and labels share one series."""

    def __init__(
        self, family: Family, labels: Labels, make: Callable[[str, Labels], S], registry: MeterRegistry
    ) -> None:
        self._family = family
        self._labels = labels
        self._make = make
        self._registry = registry
        self._series = registry.find(family, labels, make)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._labels)
        return f"<{type(self).__name__} {self._family.name}{{{shown}}}>"


class EventMeter(Meter[S]):
    """The base of counters and histograms: the application records events in them, and how long these took."""

    def _record(self, value: float) -> None:
        raise NotImplementedError

    def labels(self, /, **labels: object) -> Self:
        """The same meter with labels added. Keep it where it is used often: finding it takes longer than counting.

        Never raises. A value becomes a text and is cut to 128 characters. A label name that the collector sets itself
        gets an underscore at its end. Beyond the number of series that there may be, everything goes to one series with
        the label `_overflow`.
        """
        child: Self = object.__new__(type(self))
        child.__dict__.update(self.__dict__)
        child._labels = with_labels(self._labels, labels)
        child._series = self._find(child._labels)
        if labels and isinstance(self._series, Series):
            self._series.is_parent = True
        return child

    def _find(self, labels: Labels) -> S | Stray:
        try:
            return self._registry.find(self._family, labels, self._make)
        except ValueError:  # there was no room for this meter, and another one took its name since
            return self._registry.stray(self._family.kind)

    def timer(self, *, unit: Unit = "s") -> Timer:
        """A context manager that records in this meter how long its body took.

        :param unit: seconds, as the official agent has it, or milliseconds, as the collector reads buckets by default
        :raises ValueError: for another unit
        """
        return Timer(self._record, unit)

    @overload
    def timed(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def timed(self, /, *, unit: Unit = "s") -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def timed(self, function: Callable[..., object] | None = None, /, *, unit: Unit = "s") -> Any:
        """Record in this meter how long each call of a function takes: `@meter.timed` or `@meter.timed(unit="ms")`.

        For functions and coroutine functions.

        :raises TypeError: for generator functions
        """
        wrap = functools.partial(timed, record=self._record, unit=unit)
        return wrap if function is None else wrap(function)
