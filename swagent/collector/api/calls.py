"""Sums over calls: services, endpoints, the map. Times in milliseconds, rates between 0 and 1."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from ..pace import Pace
from ..store.database import Row
from ..store.store import Store
from .pace import pieces

Answer = dict[str, Any]
# Milliseconds: how exactly it is kept when there were calls, and what a pause counts at most.
_MOMENT = 10_000
_SILENCE = 60_000
# each query takes a range of owners, and gives a key of one or two columns, the start, the duration, whether it failed
_ENTRIES = """
SELECT service, endpoint, start, duration, is_error FROM calls WHERE kind = 'entry' AND owner > :low AND owner <= :high
"""
_ENDPOINTS = """
SELECT endpoint, start, duration, is_error FROM calls
WHERE kind = 'entry' AND owner > :low AND owner <= :high AND service = :service
"""
_INCOMING = """
SELECT coalesce(nullif(parent_service, ''), 'User'), service, start, duration, is_error FROM calls
WHERE kind = 'entry' AND owner > :low AND owner <= :high
"""
# exits that no received entry answers to: what is at the other end reports nothing, or has not yet
_OUTGOING = """
SELECT c.service, coalesce(nullif(c.peer, ''), c.endpoint), c.start, c.duration, c.is_error
FROM segments s CROSS JOIN calls c ON c.owner = s.id
WHERE s.id > :low AND s.id <= :high AND c.kind = 'exit' AND NOT EXISTS (
    SELECT 1 FROM calls e
    WHERE e.parent_segment = s.segment AND e.parent_span = c.span AND e.kind = 'entry' AND e.owner <= :last
)
"""
# who has answered at a peer
_ANSWERED = """
SELECT DISTINCT c.service, coalesce(nullif(c.peer, ''), c.endpoint), e.service
FROM segments s CROSS JOIN calls c ON c.owner = s.id
JOIN calls e ON e.parent_segment = s.segment AND e.parent_span = c.span AND e.kind = 'entry' AND e.owner <= :last
WHERE s.id > :low AND s.id <= :high AND c.kind = 'exit'
"""


class _Sum:
    """What is added up of calls with one key."""

    __slots__ = ("durations", "errors", "moments")

    def __init__(self) -> None:
        self.durations: Counter[int] = Counter()
        self.errors = 0
        self.moments: set[int] = set()  # with calls, in units of `_MOMENT`

    def add(self, start: int, duration: int, is_error: int) -> None:
        """Add a call."""
        self.durations[duration] += 1
        self.errors += is_error
        self.moments.add(start // _MOMENT)

    def merge(self, other: _Sum) -> None:
        """Add all calls of another sum."""
        self.durations.update(other.durations)
        self.errors += other.errors
        self.moments |= other.moments

    def answer(self) -> Answer:
        """The rate is over the time between the first and the last call, at least one minute. A longer silence counts
        as one minute, so that a trace of yesterday does not make today's rate small."""
        calls = self.durations.total()
        pauses = (after - before for before, after in pairwise(sorted(self.moments)))
        minutes = max(sum(min(pause * _MOMENT, _SILENCE) for pause in pauses) / 60_000, 1.0)
        return {
            "calls": calls,
            "errors": self.errors,
            "error_rate": self.errors / calls if calls else 0.0,
            **self._quantiles((50, 95, 99)),
            "calls_per_minute": round(calls / minutes, 2),
        }

    def _quantiles(self, parts: Sequence[int]) -> dict[str, int | None]:
        """The percentile: the duration that so many of a hundred calls do not exceed, as the nearest of the real
        ones."""
        ordered = sorted(self.durations.items())
        reached = list(accumulate(count for _, count in ordered))
        return {
            f"p{part}": ordered[bisect_left(reached, -(-reached[-1] * part // 100))][0] if ordered else None
            for part in parts
        }


class _Sums:
    """Sums by key.

    :param width: how many columns are the key
    """

    def __init__(self, width: int) -> None:
        self.by_key: dict[Any, _Sum] = {}
        self._width = width

    def add(self, rows: Iterable[Row]) -> None:
        """Add what a query found."""
        by_key, width = self.by_key, self._width
        for row in rows:
            key = row[0] if width == 1 else row[:width]
            found = by_key.get(key)
            if found is None:
                found = by_key[key] = _Sum()
            found.add(*row[width:])

    def folded(self, column: int) -> _Sums:
        """The sums by one column of the key."""
        folded = _Sums(1)
        for key, each in self.by_key.items():
            folded.by_key.setdefault(key[column], _Sum()).merge(each)
        return folded

    async def answers(self, pace: Pace) -> dict[Any, Answer]:
        """The sums as they are answered, sorted by key."""
        answers: dict[Any, Answer] = {}
        for key in sorted(self.by_key):
            answers[key] = self.by_key[key].answer()
            await pace.breathe()
        return answers


async def services(store: Store) -> Answer:
    """Every service heard from, with the sums of its entry calls."""
    version, pace, entries = store.version, Pace(), _Sums(2)
    async for piece in pieces(store, "segments", pace):
        entries.add(store.read(_ENTRIES, piece))
    sums = await entries.folded(0).answers(pace)
    endpoints = Counter(service for service, _ in entries.by_key)
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for (service, _), time in store.seen().items():
        seen[service].append(time)
    return {
        "version": version,
        "services": [
            {
                "name": name,
                "instances": len(seen[name]),
                "endpoints": endpoints[name],
                **(sums.get(name) or _Sum().answer()),
                "last_seen": int(max(seen[name], default=0.0) * 1000),
            }
            for name in _names(store, sums)
        ],
    }


def _names(store: Store, called: Iterable[str]) -> list[str]:
    """The services, whatever of them has come."""
    seen = (service for service, _ in store.seen())
    return sorted({*called, *seen, *store.statistics().services} - {""})


async def endpoints(store: Store, service: str) -> Answer:
    """The entry endpoints of a service, the most called first."""
    version, pace, entries = store.version, Pace(), _Sums(1)
    async for piece in pieces(store, "segments", pace):
        entries.add(store.read(_ENDPOINTS, {**piece, "service": service}))
    found = [{"name": name, **sums} for name, sums in (await entries.answers(pace)).items()]
    return {"version": version, "endpoints": sorted(found, key=lambda each: -each["calls"])}


async def service_map(store: Store) -> Answer:
    """Who calls whom."""
    version, pace, incoming, outgoing = store.version, Pace(), _Sums(2), _Sums(2)
    answered: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    async for piece in pieces(store, "segments", pace):
        incoming.add(store.read(_INCOMING, piece))
        outgoing.add(store.read(_OUTGOING, piece))
        for caller, peer, service in store.read(_ANSWERED, piece):
            answered[caller, peer].add(service)
    called = await incoming.folded(1).answers(pace)
    _attribute(outgoing, incoming, answered)
    edges = [
        {"from": caller, "to": called, **sums}
        for each in (incoming, outgoing)
        for (caller, called), sums in (await each.answers(pace)).items()
    ]
    names = _names(store, called)
    nodes = [_node(name, "service", called.get(name) or _Sum().answer()) for name in names]
    peers = await outgoing.folded(1).answers(pace)
    for name, sums in (await incoming.folded(0).answers(pace)).items():
        peer = peers.setdefault(name, {"calls": 0, "errors": 0, "p50": None})
        peer["calls"] += sums["calls"]
        peer["errors"] += sums["errors"]
    nodes += [_node(name, "peer", peers[name]) for name in sorted(peers.keys() - set(names))]
    return {"version": version, "nodes": nodes, "edges": edges}


def _attribute(outgoing: _Sums, incoming: _Sums, answered: Mapping[tuple[str, str], set[str]]) -> None:
    """A call that has no answer, or none yet, counts as a call to the service that answers its caller at that peer. If
    several services do, nobody can say to which one."""
    for (caller, peer), services in answered.items():
        if len(services) == 1 and (caller, peer) in outgoing.by_key:
            sums = outgoing.by_key.pop((caller, peer))
            incoming.by_key.setdefault((caller, *services), _Sum()).merge(sums)


def _node(name: str, kind: str, sums: Answer) -> Answer:
    return {"name": name, "kind": kind, **{key: sums[key] for key in ("calls", "errors", "p50")}}
