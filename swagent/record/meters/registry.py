"""Every meter of the process. The same name and labels are the same series, and their number is bounded.

The bounds are hard because labels come at run time, often from outside: a path, a user's agent. Beyond them a series
with more labels is counted in its meter's `_overflow` series, and a meter with a new name in `swagent_meter_overflow`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TypeVar, cast

from ...forks import at_fork
from .family import Family, Stray
from .gauges import GaugeRound, GaugeSeries
from .labels import OVERFLOW
from .samples import Labels, Sample, SingleSample
from .series import CounterSeries, HistogramSeries, Series

S = TypeVar("S", bound=Series)

# How the names of the agent's own meters begin.
_OURS = "swagent_"

DEFAULT_LIMIT = 2000
# The bytes that all series may take on the wire, so that a period's record stays below the limit of its channel.
MAX_BYTES = 1536 * 1024


class MeterRegistry:
    """Every method may be called from any thread at any time."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        """:param limit: how many series there may be. It may be changed later; series that exist then stay"""
        self.limit = limit
        self._families: dict[str, Family] = {}
        self._series: dict[tuple[str, Labels], Series] = {}
        self._bytes = 0
        self._strays: dict[str, Stray] = {}
        # re-entrant for the same reason as the lock of a series
        self._lock = threading.RLock()
        _registries.add(self)

    def find(self, family: Family, labels: Labels, make: Callable[[str, Labels], S]) -> S | Stray:
        """The series of a meter with these labels. It is made if there is none and if there is room.

        :raises ValueError: when the name is that of a meter of another kind, mode or buckets
        """
        with self._lock:
            known = self._families.get(family.name)
            if known is not None and known != family:
                raise ValueError(f"{family.name!r} cannot be {family.described}: it is {known.described} already")
            there = self._series.get((family.name, labels))
            found = there if there is not None else self._place(family, labels, make)
        if there is None and _awaken is not None and not family.name.startswith(_OURS):
            # without the lock: what starts now reads the meters
            _awaken()
        return cast("S | Stray", found)  # all series of a family are of one kind

    def _place(self, family: Family, labels: Labels, make: Callable[[str, Labels], S]) -> Series | Stray:
        if len(self._series) >= self.limit or self._bytes + family.size_with(labels) > MAX_BYTES:
            if family.name not in self._families or family.kind == "gauge":
                return self.stray(family.kind)
            labels = OVERFLOW
            if (family.name, labels) in self._series:
                return self._series[family.name, labels]
        self._families[family.name] = family
        self._bytes += family.size_with(labels)
        # a finaliser that ran within the call may have been here first
        return self._series.setdefault((family.name, labels), make(family.name, labels))

    def stray(self, kind: str) -> Stray:
        """The replacement of series of this kind without room. A gauge is counted now, since it will not be read."""
        with self._lock:
            stray = self._strays.setdefault(kind, Stray(kind))
        if kind == "gauge":
            stray.add()
        return stray

    def remove(self, series: Series) -> None:
        """Forget a series. An unknown one is no error."""
        key = series.name, series.labels
        with self._lock:
            if self._series.get(key) is series:
                del self._series[key]
                self._bytes -= self._families[series.name].size_with(series.labels)
                if not any(name == series.name for name, _ in self._series):
                    del self._families[series.name]

    # -- the report ---------------------------------------------------------------------------------------------------

    def collect(self, patience: float = 0.1) -> list[Sample]:
        """The samples of every meter now. Never raises. Blocks for as long as the gauges take, but no longer than
        `patience`.

        :param patience: seconds
        """
        done = threading.Event()
        asking = self.ask_gauges(done.set)
        answers: list[SingleSample] = []
        if asking is not None:
            done.wait(patience)
            answers = asking.finish()
        return [*self.counts(), *answers]

    def ask_gauges(self, done: Callable[[], object]) -> GaugeRound | None:
        """Start a round through the gauges. None when there are none.

        :param done: called in another thread after the last answer
        """
        gauges = [series for series in self._all() if isinstance(series, GaugeSeries)]
        if not gauges:
            return None
        asking = GaugeRound(gauges, done)
        asking.start()
        return asking

    def counts(self) -> list[Sample]:
        """The samples of every meter but the gauges, and how much could not be counted. Never blocks. A counter in the
        mode `rate` gives each amount once only: so the caller has to report it."""
        everything = self._all()
        samples: list[Sample] = [
            series.sample()
            for series in everything
            if isinstance(series, (CounterSeries, HistogramSeries)) and (series.is_used or not series.is_parent)
        ]
        samples += [stray.count.sample() for stray in list(self._strays.values())]
        ignored = sum(series.ignored for series in everything)
        return [*samples, SingleSample("swagent_meter_ignored", (), float(ignored))] if ignored else samples

    def _all(self) -> list[Series]:
        with self._lock:
            return list(self._series.values())

    def renew(self) -> None:
        """In a forked child: every series starts anew."""
        self._lock = threading.RLock()
        for series in [*self._series.values(), *(stray.count for stray in self._strays.values())]:
            series.renew()


_registries: weakref.WeakSet[MeterRegistry] = weakref.WeakSet()
_awaken: Callable[[], object] | None = None


def when_made(awaken: Callable[[], object] | None) -> None:
    """Let each new series of the application's call this, until None takes it back."""
    global _awaken  # noqa: PLW0603, RUF100
    _awaken = awaken


def _renew_all() -> None:
    for registry in list(_registries):
        registry.renew()


# a forked child reports as an instance of its own: what its parent counted would be reported twice
at_fork(after_in_child=_renew_all)
