"""What a run has kept. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stress.markdown import make_table, show_share

from .traces import SERVICES, Kind, kind_of

LEAST: Mapping[Kind, float] = {"failed": 0.999, "slow": 0.99}
LEAST_WHOLE = 0.95
MOST_GROWTH = 2 << 20
"""Bytes of memory."""
_FULL_AFTER = 0.25
"""The part of a run after which each channel is nearly full."""


@dataclass(frozen=True)
class Run:
    """One run of the three services.

    :ivar sheds: whether ordinary segments were dropped while the channel was nearly full
    :ivar answers: each service's report on itself
    :ivar taken: the traces that the collector took, by service
    """

    sheds: bool
    seconds: float
    answers: Sequence[Mapping[str, Any]]
    taken: Sequence[frozenset[int]]

    def kept(self, kind: Kind) -> float:
        """The share of the segments of a kind that the collector took."""
        made, kept = Counter[bool](), Counter[bool]()
        for service in range(SERVICES):
            of_kind = [trace for trace in range(self.answers[service]["made"]) if kind_of(service, trace) == kind]
            made[True] += len(of_kind)
            kept[True] += len(self.taken[service].intersection(of_kind))
        return kept[True] / made[True]

    @property
    def whole(self) -> float:
        """The share of the ordinary segments which were taken whose trace was taken from all services."""
        whole = frozenset[int].intersection(*self.taken)
        made = min(answer["made"] for answer in self.answers)
        ordinary = [
            trace
            for service in range(SERVICES)
            for trace in self.taken[service]
            if trace < made and kind_of(service, trace) == "ordinary"
        ]
        return sum(trace in whole for trace in ordinary) / len(ordinary)

    @property
    def growth(self) -> int:
        """Bytes of memory that a service gained while its channel was nearly full, at most."""
        return max(map(self._growth_of, self.answers))

    def _growth_of(self, answer: Mapping[str, Any]) -> int:
        full: list[int] = [resident for at, resident in answer["samples"] if at >= _FULL_AFTER * self.seconds]
        quarter = max(1, len(full) // 4)
        return sorted(full[-quarter:])[quarter // 2] - sorted(full[:quarter])[quarter // 2]

    @property
    def faults(self) -> list[str]:
        """The things that should not have happened, in words."""
        found = ["a ledger does not balance" for answer in self.answers if not answer["balanced"]]
        found += [f"records were dropped: {answer['dropped']}" for answer in self.answers if answer["dropped"]]
        if not self.sheds:
            return found
        found += [f"{show_share(self.kept(kind))} of the {kind} ones were kept" for kind, least in LEAST.items()
                  if self.kept(kind) < least]  # fmt: skip
        if self.whole < LEAST_WHOLE:
            found.append(f"{show_share(self.whole)} of the ordinary ones are in whole traces")
        if self.growth > MOST_GROWTH:
            found.append(f"the memory grew by {self.growth} bytes")
        return found


def render(runs: Sequence[Run]) -> str:
    """A table, with a column for each run."""
    heads = ["", *("with shedding" if run.sheds else "without" for run in runs)]
    rows = [
        ["segments made", *(f"{sum(answer['made'] for answer in run.answers):,}" for run in runs)],
        ["taken by the collector", *(f"{sum(map(len, run.taken)):,}" for run in runs)],
        ["errors kept", *(show_share(run.kept("failed")) for run in runs)],
        ["slow requests kept", *(show_share(run.kept("slow")) for run in runs)],
        ["ordinary ones kept", *(show_share(run.kept("ordinary")) for run in runs)],
        ["of these, in traces of all three services", *(show_share(run.whole) for run in runs)],
        ["memory gained while nearly full", *(f"{run.growth / (1 << 20):.1f} MiB" for run in runs)],
    ]
    return make_table(heads, rows)
