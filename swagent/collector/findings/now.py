"""The findings over all that is kept: at most one of a kind and an operation, those first that explain most.

Which requests are looked at is chosen by sums: of each operation the slowest, those near the median, and some that
failed. What is found in them counts for the others of their part. So the work is bounded, however much is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from ..api.failure_index import FailureIndex
from ..api.failures import Failure, Group
from ..cancelling import stop_if_cancelled
from ..store.records import Event
from ..store.store import Store
from .baselines import Baselines, Usual
from .chains import Chain, chain_of
from .chains import finding_of as chain_finding
from .culprit import operations_of
from .durations import Operation
from .finding import Finding
from .held_loops import all_holds, held_loops
from .holds import Hold
from .hot_attributes import hot_attributes
from .joining import joined
from .lost import lost
from .ordering import ordered
from .queues import queues
from .regressions import regressions
from .roots import chosen, roots
from .samples import Sample, read_samples, sum_up
from .sequences import Run, hint, run_of
from .similar import Similar, similar_requests
from .small_pools import small_pools
from .traces import found_in

_MOST_GROUPS = 8
"""Groups of failures of which traces are read."""
_FAILED_TRACES = 32
"""Traces that are read for all of these groups together."""
_OPERATIONS_EACH = 6
"""Operations of a sample whose baselines are looked for, the longest."""
_BASELINE_SEGMENTS = 6_000
"""Segments whose calls say how long operations take usually."""


class Looked(NamedTuple):
    """The findings, and how much was looked at for them.

    :ivar requests: that began traces
    :ivar ms: milliseconds of these
    :ivar samples: traces that were read for the others
    """

    findings: list[Finding]
    requests: int
    ms: int
    samples: int


def now(
    store: Store, failures: FailureIndex, baselines: Baselines, bounds: Mapping[str, int], at: int | None = None
) -> Looked:
    """The findings over all that is kept.

    :param bounds: `from` and `to`, as far as a time is asked for
    :param at: a moment since which something may be worse, besides the starts of services
    :raises StoreError: when the store cannot be read
    """
    known = roots(store, bounds, [event.start_time for event in store.records(Event) if event.name == "Start"])
    samples = list(read_samples(store, chosen(known)))
    holds = all_holds(store, bounds)
    usual = baselines.sampled(_operations(samples), _BASELINE_SEGMENTS)
    held = list(held_loops(store, holds, bool(bounds)))
    similar = similar_requests(store, (sample.trace.path for sample in samples))
    found = [*sum_up(_of_samples(samples, usual, holds, held, similar), samples), *held, *_hints(samples)]
    found += small_pools(store, bounds, samples)
    found += _chains(store, failures, bounds)
    found += regressions(store, bounds, at)
    found += hot_attributes(store, known)
    found += queues(store, bounds)
    found += lost(store, bounds)
    requests, ms = sum(len(root.rows) for root in known), sum(root.ms for root in known)
    return Looked(ordered(found, requests, ms), requests, ms, len(samples))


def _operations(samples: Iterable[Sample]) -> list[Operation]:
    """The operations that matter, those of slow traces first."""
    by_part = sorted(samples, key=lambda sample: sample.part != "slow")
    return [each for sample in by_part for each in operations_of(sample.trace.path)[:_OPERATIONS_EACH]]


def _of_samples(
    samples: Iterable[Sample], known: Usual, holds: Sequence[Hold], held: Iterable[Finding], similar: Similar
) -> Iterator[tuple[Sample, Finding]]:
    """The findings of each sample, without those that are made for all samples: of code that held a loop, and of
    failures. That neither side of a call was at work may be the machine's doing, and is said of a trace only."""
    services = {finding.service for finding in held}
    for sample in samples:
        stop_if_cancelled()
        for finding in found_in(sample.trace, known, holds, similar).findings:
            is_said = finding.kind in ("error_chain", "slow_way")
            if finding.kind == "blocked_loop":  # code that is known and not said has held it once, and not long
                is_said = bool(finding.frame) or finding.service in services
            if not is_said:
                yield sample, finding


def _hints(samples: Iterable[Sample]) -> Iterator[Finding]:
    """Calls that might go side by side, in requests that took as long as usual."""
    runs: dict[tuple[str, str], list[Run | None]] = {}
    for sample in samples:
        if sample.part == "usual":
            for node in sample.trace.nodes:
                if node.span.kind == "Entry":
                    runs.setdefault((node.segment.service, node.span.operation), []).append(run_of(node))
    for found in runs.values():
        finding = hint(each for each in found if each is not None) if all(found) else None
        if finding is not None:
            yield finding


def _chains(store: Store, index: FailureIndex, bounds: Mapping[str, int]) -> Iterator[Finding]:
    """One finding for all groups of failures that are steps of one chain."""
    groups: dict[Group, list[Failure]] = {}
    for failure in index.read():
        if bounds.get("from", 0) <= failure.time <= bounds.get("to", 2**62):
            groups.setdefault(failure.group, []).append(failure)
    found: dict[tuple[str, ...], tuple[Chain, int]] = {}
    largest = sorted(groups.values(), key=len, reverse=True)[:_MOST_GROUPS]
    for failures in largest:
        for chain, count in _chains_of(store, failures, _FAILED_TRACES // len(largest)):
            found[chain.key] = chain, max(found.get(chain.key, (chain, 0))[1], count)
    return (chain_finding(chain, count) for chain, count in found.values())


def _chains_of(store: Store, failures: Iterable[Failure], most: int) -> list[tuple[Chain, int]]:
    """The chains that failures of one group came to, each with the number of its traces. A failure that its request
    survived has none.

    :param failures: the oldest first
    :param most: traces are read: the newest, and others by a draw that is the same for the same traces
    """
    names = {failure.trace: failure.name for failure in failures}
    *others, newest = names
    drawn = {newest, *Random(len(others)).sample(others, min(len(others), most - 1))}  # noqa: S311  (no secret)
    found: dict[tuple[str, ...], list[Chain]] = {}
    for each in filter(drawn.__contains__, reversed(names)):
        trace = joined(store.trace(each))
        chain = chain_of(trace.head, trace.nodes, names[each]) if trace is not None else None
        if chain is not None:
            found.setdefault(chain.key, []).append(chain)
    share = len(names) / len(drawn)
    return [(chains[0], round(len(chains) * share)) for chains in found.values()]
