"""The meters' report: every period it reads all meters and hands over one record.

Its own timer also measures the event loop's lag. If it wakes later than planned, other tasks have held the loop for
that long. So the measurement needs no wake-up of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import anyio

from ..agent_log import RateLimitedLog
from ..backend import LoopNotifier, loop_notifier
from ..record.meters.registry import MeterRegistry
from ..record.meters.samples import Sample, SingleSample

Source = Callable[[], Iterable[Sample]]

# Seconds of life, and at most half a period, after which a process is measured: shorter ones are spared what it takes.
MEASURED_AFTER = 5.0
# How long gauges may take: together in a report, and in the last one, which holds up the stop.
LONGEST_WAIT = 1.0
LAST_PATIENCE = 0.1


class MeterReport:
    """One agent's report of meters."""

    def __init__(
        self,
        registry: MeterRegistry,
        sources: Sequence[Source],
        offer: Callable[[Sequence[Sample]], object],
        period: float,
        limited: RateLimitedLog,
        measure: Callable[[], object] = lambda: None,
    ) -> None:
        """
        :param registry: the application's meters
        :param sources: what else is reported; each is called in the loop, and must not wait
        :param offer: takes the samples of one period; must not raise or wait
        :param period: seconds
        :param measure: begins with what is not worth it in a process that soon ends; called in the loop, some seconds
            after the start
        """
        self._registry = registry
        self._sources = sources
        self._offer = offer
        self._period = period
        self._limited = limited
        self._measure = measure

    async def run(self) -> None:
        """Report every period until cancelled. Cancellation loses nothing: what was not reported is in the next report.

        Periods are counted from the start, so a report that comes late does not delay the next. Periods that were
        missed because the loop was held up are left out.
        """
        due = anyio.current_time() + self._period
        await anyio.sleep(min(MEASURED_AFTER, self._period / 2))
        self._measure()
        while True:
            await anyio.sleep_until(due)
            lag = max(0.0, anyio.current_time() - due)
            await self._report(SingleSample("swagent_loop_lag", (), lag * 1000))
            due += self._period * (1 + max(0, int((anyio.current_time() - due) / self._period)))

    def report_now(self) -> None:
        """The last report, at the stop. Blocks for a tenth of a second at most, where gauges are slow."""
        self._offer([*self._own(), *self._registry.collect(LAST_PATIENCE)])

    async def _report(self, lag: Sample) -> None:
        gauges = await self._ask_gauges()
        # no wait from here on: a counter in the mode `rate` gives each amount once only
        self._offer([*self._own(), lag, *self._registry.counts(), *gauges])

    async def _ask_gauges(self) -> Sequence[Sample]:
        answered = anyio.Event()
        asking = self._registry.ask_gauges(_through(loop_notifier(), answered))
        if asking is None:
            return ()
        try:
            with anyio.move_on_after(LONGEST_WAIT):
                await answered.wait()
        finally:
            samples = asking.finish()
        if asking.silent:
            self._limited.warn("gauges", "no value from these gauges: %s", ", ".join(asking.silent))
        return samples

    def _own(self) -> list[Sample]:
        samples: list[Sample] = []
        for source in self._sources:
            try:
                samples += source()
            except Exception as error:  # noqa: BLE001, RUF100  (what cannot be measured is left out)
                self._limited.warn("meters", "some of the agent's own meters failed: %r", error)
        return samples


def _through(notify: LoopNotifier, answered: anyio.Event) -> Callable[[], None]:
    return lambda: notify(answered.set)
