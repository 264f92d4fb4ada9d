"""Messages that waited in a queue for their consumer, longer than others of the same consumer do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..api.node import Node
from ..api.pieces import pieces
from ..api.sums import quantile
from ..store.store import Store
from .finding import MOST_PLACES, Baseline, Finding, Place, trace_link
from .places import place
from .words import duration

LEAST = 20
"""Messages of a consumer that say how long they wait usually."""
_LONG_MS, _LONG_FACTOR = 100, 2
_WITHOUT_USUAL = 1000  # milliseconds: as `_LONG_MS`, where nothing is usual yet
_EPISODES, _LONG_EPISODE = 3, 2000  # times that are no chance, and the milliseconds of one that is none either
_NEWEST = 6000  # segments that say for one trace what is usual
# the end of a producer's span is when the broker had the message; both clocks are their processes' own
_WAITS = """
SELECT c.service, c.endpoint, p.peer, c.start - p.start - p.duration, c.duration, c.start, o.trace,
    o.segment || ':' || c.span
FROM calls c CROSS JOIN segments o ON o.id = c.owner
CROSS JOIN segments s ON s.trace = o.trace AND s.segment = c.parent_segment
CROSS JOIN calls p ON p.owner = s.id AND p.span = c.parent_span
WHERE c.kind = 'entry' AND c.layer = 4 AND c.parent_segment IS NOT NULL AND c.owner > :low AND c.owner <= :high
    AND {bounds}
"""
_BOUNDS = {
    "from": "c.start >= :from", "to": "c.start <= :to", "service": "c.service = :service",
    "endpoint": "c.endpoint = :endpoint",
}  # fmt: skip
Consumer = tuple[str, str]
"""A service, and its operation."""


class Wait(NamedTuple):
    """A message that was consumed.

    :ivar ms: between the end of its producer's span and the begin of its consumer's
    :ivar took: milliseconds of the work on it
    """

    broker: str
    ms: int
    took: int
    start: int
    place: Place


def queues(store: Store, bounds: Mapping[str, int]) -> Iterator[Finding]:
    """The consumers whose messages wait.

    :param bounds: `from` and `to`, as far as a time was asked for
    :raises StoreError: when the store cannot be read
    """
    for consumer, waits in _waits(store, bounds).items():
        found = judge(consumer, waits)
        if found is not None:
            yield found


def _waits(store: Store, filters: Mapping[str, int | str], after: int = 0) -> dict[Consumer, list[Wait]]:
    query = _WAITS.format(bounds=" AND ".join(["true", *(_BOUNDS[each] for each in filters)]))
    found: dict[Consumer, list[Wait]] = {}
    for piece in pieces(store, "segments", after):
        for service, operation, broker, ms, took, start, *names in store.read(query, {**piece, **filters}):
            found.setdefault((service, operation), []).append(Wait(broker, ms, took, start, Place(*names)))
    return found


def judge(consumer: Consumer, waits: Sequence[Wait]) -> Finding | None:
    """The finding of a consumer's messages; None where they wait as long as usual. Messages always wait that are sent
    to be consumed later, and those between two clocks that differ."""
    if len(waits) < LEAST:
        return None
    ordered = sorted(each.ms for each in waits)
    quick, slow = ordered[len(ordered) // 10], quantile(ordered, 90) or 0
    long = [each for each in waits if _is_long(each.ms, quick)]
    if not _is_long(slow, quick) or not _is_recurring(waits, long):
        return None
    service, operation = consumer
    worst = sorted(long, key=lambda each: -each.ms)
    took = quantile(sorted(each.took for each in waits), 50) or 0
    text = (
        f"{service} · {operation}: messages wait in the queue{_at(worst[0].broker)} · p90 {duration(slow)}, a tenth "
        f"of {len(waits):,} at most {duration(max(quick, 0))}; the work on one takes {duration(took)} (p50)"
    )
    return Finding(
        "queue_latency", text, service, operation, "high", trace_link(worst[0].place), count=len(long),
        ms=sum(each.ms - quick for each in long), peer=worst[0].broker,
        places=tuple(each.place for each in worst[:MOST_PLACES]),
    )  # fmt: skip


def _is_long(ms: int, quick: int, least: int = _LONG_MS) -> bool:
    """:param quick: how long the quickest tenth waits at most"""
    return ms - quick >= max(least, (_LONG_FACTOR - 1) * quick)


def _is_recurring(waits: Sequence[Wait], long: Sequence[Wait]) -> bool:
    """Whether messages waited several times, or for long, or most of them did: else it may be a consumer that started
    late."""
    if 2 * len(long) >= len(waits):
        return True
    numbers = {each.place for each in long}
    ordered = sorted(waits, key=lambda each: each.start)
    begins = sum(one.place not in numbers and other.place in numbers for one, other in pairwise(ordered))
    starts = [each.start for each in long]
    return begins >= _EPISODES or max(starts) - min(starts) >= _LONG_EPISODE


def waited(store: Store, nodes: Iterable[Node]) -> Iterator[Finding]:
    """The messages of one trace that waited long.

    :raises StoreError: when the store cannot be read
    """
    for node in nodes:
        ms = _waited(node)
        if ms < _LONG_MS:
            continue
        service, operation = node.segment.service, node.span.operation
        after = store.numbers("segments")[1] - _NEWEST
        others = _waits(store, {"service": service, "endpoint": operation}, max(after, 0)).get((service, operation), [])
        own = place(node)
        found = waited_message(node, ms, [each.ms for each in others if each.place != own])
        if found is not None:
            yield found


def _waited(node: Node) -> int:
    """How long a message waited, as its consumer measured it, or by the clocks of both; 0 where it is no message."""
    above = node.parent
    if node.span.kind != "Entry" or node.span.layer != "MQ" or above is None:
        return 0
    measured = node.span.tag("transmission.latency") or ""
    return int(measured) if measured.isdecimal() and len(measured) < 10 else node.start - above.end


def waited_message(node: Node, ms: int, others: Sequence[int]) -> Finding | None:
    """The finding of one message; None where it waited no longer than usual.

    :param others: for how long others of its consumer waited
    """
    quick = sorted(others)[len(others) // 10] if others else 0
    is_known = len(others) >= LEAST
    if not (_is_long(ms, quick) if is_known else ms >= _WITHOUT_USUAL):
        return None
    usual = f", a tenth of {len(others):,} at most {duration(max(quick, 0))}" if is_known else ""
    service, operation = node.segment.service, node.span.operation
    broker = (node.parent.span.peer if node.parent is not None else "") or node.span.peer
    text = f"{service} · {operation}: the message waited in the queue{_at(broker)} for {duration(ms)}{usual}"
    return Finding(
        "queue_latency", text, service, operation, "high" if is_known else "medium", trace_link(place(node)), ms=ms,
        peer=broker,
        places=(place(node),), baseline=Baseline(quick, len(others)) if is_known else None,
    )  # fmt: skip


def _at(broker: str) -> str:
    return f" at {broker}" if broker else ""
