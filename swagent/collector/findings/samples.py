"""Traces that are looked at for others, and how often what is seen in them happened in all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..cancelling import stop_if_cancelled
from ..store.store import Store
from .finding import MOST_PLACES, Finding
from .joining import Joined, joined
from .roots import Part, Root

MOST_SPANS = 1500
"""Spans of a trace that is looked at for others: of a larger one it would take too long."""
_EVIDENT = frozenset(("n_plus_one", "retry_storm", "cancelled", "loop_runs"))
"""Kinds of which one sight is enough: they do not depend on how long something took."""


class Sample(NamedTuple):
    """A trace that is looked at for a part of its operation's requests."""

    root: Root
    part: Part
    trace: Joined


def read_samples(store: Store, wanted: Iterable[tuple[Root, Sequence[tuple[Part, str]]]]) -> Iterator[Sample]:
    """Read and join traces.

    :raises StoreError: when the store cannot be read
    """
    for root, traces in wanted:
        for part, trace_id in traces:
            stop_if_cancelled()
            trace = joined(store.trace(trace_id), MOST_SPANS)
            if trace is not None:
                yield Sample(root, part, trace)


@dataclass
class Sightings:
    """The findings of one kind and operation, and of how many samples."""

    found: list[tuple[Sample, Finding]] = field(default_factory=list[tuple[Sample, Finding]])

    def summed(self, looked_at: dict[tuple[Root, Part], int]) -> Finding | None:
        """One finding for all of them; None where they may be chance.

        :param looked_at: how many samples there are of each part
        """
        first = max((finding for _, finding in self.found), key=lambda each: each.ms)
        traces = {sample.trace.head: sample for sample, _ in self.found}
        is_recurring = len(traces) > 1 and any(sample.root.is_recurring for sample in traces.values())
        if first.kind not in _EVIDENT and not is_recurring:
            return None
        each_ms = sum(finding.ms for _, finding in self.found) / len(traces)
        count = failures = 0.0
        for part in {(sample.root, sample.part) for sample in traces.values()}:
            seen = sum((sample.root, sample.part) == part for sample in traces.values())
            there = len(part[0].parts[part[1]]) * seen / looked_at[part]
            count += there
            failures += there if any(f.failures for s, f in self.found if (s.root, s.part) == part) else 0.0
        places = dict.fromkeys(place for _, finding in self.found for place in finding.places)
        return replace(
            first, count=max(round(count), 1), ms=round(each_ms * count), failures=round(failures),
            places=tuple(places)[:MOST_PLACES],
        )  # fmt: skip


def sum_up(found: Iterable[tuple[Sample, Finding]], samples: Iterable[Sample]) -> Iterator[Finding]:
    """One finding for those of each kind and operation."""
    looked_at: dict[tuple[Root, Part], int] = {}
    for sample in samples:
        key = sample.root, sample.part
        looked_at[key] = looked_at.get(key, 0) + 1
    by_subject: dict[tuple[str, str, str], Sightings] = {}
    for sample, finding in found:
        by_subject.setdefault(finding.subject, Sightings()).found.append((sample, finding))
    for sightings in by_subject.values():
        summed = sightings.summed(looked_at)
        if summed is not None:
            yield summed
