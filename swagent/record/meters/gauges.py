"""Reads the values of gauges: foreign code, which may raise, return nonsense, or never return.

So they are read in a thread that lives for one round, and a report waits for it for a bounded time. A gauge that
is still busy when the next round comes is left out of that round: so no gauge ever holds more than one thread. A gauge
that was late comes last from then on, until it is in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from ...system_thread import SystemThread
from .samples import Labels, SingleSample
from .series import Series, as_number

Ask = Callable[[], float | None]


class GaugeSeries(Series):
    """A value that is read when it is reported."""

    __slots__ = ("ask", "is_busy", "is_late")

    def __init__(self, name: str, labels: Labels, ask: Ask) -> None:
        super().__init__(name, labels)
        self.ask = ask
        self.is_busy = False
        self.is_late = False

    @property
    def is_used(self) -> bool:
        return True

    def sample(self) -> SingleSample:
        """The value, NaN where there is none. Runs foreign code in the calling thread, for as long as that takes."""
        self.is_busy = True
        try:
            value = as_number(self.ask())
        except BaseException:  # noqa: BLE001, RUF100  (foreign code, even where it wants to end the program)
            value = math.nan
        finally:
            self.is_busy = False
        return SingleSample(self.name, self.labels, value)

    def renew(self) -> None:
        super().renew()
        self.is_busy = self.is_late = False


class GaugeRound:
    """One round through the gauges. It is started and finished in one thread, and reads in another."""

    def __init__(self, gauges: Iterable[GaugeSeries], done: Callable[[], object]) -> None:
        """:param done: called in the reading thread after the last gauge, however late that is; must not raise"""
        self._gauges = sorted(gauges, key=lambda gauge: gauge.is_late)
        self._done = done
        self._current: GaugeSeries | None = None
        self._samples: list[SingleSample] = []
        self._is_over = False
        self.silent: list[str] = []
        """Names of gauges that gave no value."""

    def start(self) -> None:
        """Start reading."""
        thread = SystemThread(self._ask_all, "swagent gauges")
        try:
            thread.start()
        except RuntimeError:  # the system has no thread to spare
            self._skip(self._gauges)
            self._done()

    def finish(self) -> list[SingleSample]:
        """The values that have come so far. Later ones are ignored."""
        self._is_over = True
        late = self._current
        if late is not None:
            late.is_late = True
            self._skip([late])
        return self._samples.copy()

    def _ask_all(self) -> None:
        for gauge in self._gauges:
            if self._is_over:
                break
            if gauge.is_busy:
                self._skip([gauge])
                continue
            self._current = gauge
            sample = gauge.sample()
            self._current = None
            self._hear(gauge, sample)
        self._done()

    def _hear(self, gauge: GaugeSeries, sample: SingleSample) -> None:
        if self._is_over:
            return
        gauge.is_late = False
        if math.isfinite(sample.value):
            self._samples.append(sample)
        else:
            self._skip([gauge])

    def _skip(self, gauges: Iterable[GaugeSeries]) -> None:
        for gauge in gauges:
            gauge.ignore()
            self.silent.append(gauge.name)
