"""The agent's own ledger as meters, so that a loss is visible where people look at everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..ledger import SignalStatistics, Statistics
from ..record.meters.samples import HistogramSample, Labels, Sample, SingleSample, bucket
from ..signals import Signal

Latencies = Mapping[str, Sequence[tuple[float, int]]]
"""By signal: the buckets of the time from a record's finish to its acknowledgement, as lower bound in milliseconds and
how many records since the start, the lowest first."""


class LedgerMeters:
    """Running totals and current levels per signal."""

    def __init__(self, statistics: Callable[[], Statistics], latencies: Callable[[], Latencies] | None = None) -> None:
        self._statistics = statistics
        self._latencies = latencies
        self._spilling: set[Signal] = set()  # a level that was reported goes on, down to 0

    def collect(self) -> list[Sample]:
        """The ledger of this instant."""
        ledgers = [*self._statistics()]
        samples = [sample for signal in ledgers for sample in _samples_of(signal)]
        samples += [sample for signal in ledgers for sample in self._spilled(signal)]
        if self._latencies is not None:
            samples += [
                HistogramSample(
                    "swagent_delivery_latency", (("signal", signal),), tuple(bucket(*each) for each in counts)
                )
                for signal, counts in self._latencies().items()
            ]
        return samples

    def _spilled(self, statistics: SignalStatistics) -> Iterator[Sample]:
        if statistics.spilled or statistics.recovered or statistics.signal in self._spilling:
            self._spilling.add(statistics.signal)
            labels: Labels = (("signal", statistics.signal.value),)
            yield SingleSample("swagent_records_spilled", labels, float(statistics.spilled))
            yield SingleSample("swagent_records_recovered", labels, float(statistics.recovered))


def _samples_of(statistics: SignalStatistics) -> Iterator[Sample]:
    labels: Labels = (("signal", statistics.signal.value),)
    for what in ("offered", "confirmed", "queued", "in_flight"):
        yield SingleSample(f"swagent_records_{what}", labels, float(getattr(statistics, what)))
    for what, counts in (("refused", statistics.refused), ("dropped", statistics.dropped)):
        for reason, count in counts.items():
            yield SingleSample(f"swagent_records_{what}", (("reason", reason), *labels), float(count))
