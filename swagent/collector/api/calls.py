"""Sums over calls: of services, of endpoints, of the map."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..store.store import Store
from .failed_calls import failed_of
from .pieces import pieces
from .sums import Answer, Sum, Sums, Trend, trend

MOST = 1000
"""Endpoints of a service in an answer; an agent may name them without end."""
EVER: Mapping[str, int] = MappingProxyType({})
"""No time that was asked for."""
_BOUNDS = {"from": "start >= :from", "to": "start <= :to"}
# each query takes a range of owners, and gives a key of one or two columns, the start, the duration, whether it failed
_ENTRIES = """
SELECT service, endpoint, start, duration, {failed} FROM calls
WHERE kind = 'entry' AND owner > :low AND owner <= :high AND {bounds}
"""
_ENDPOINTS = """
SELECT endpoint, start, duration, {failed} FROM calls
WHERE kind = 'entry' AND owner > :low AND owner <= :high AND service = :service AND {bounds}
"""
_INCOMING = """
SELECT coalesce(nullif(c.parent_service, ''), iif(c.parent_segment IS NULL, NULL, (
    SELECT p.service FROM segments o JOIN segments p ON p.trace = o.trace
    WHERE o.id = c.owner AND p.segment = c.parent_segment
)), 'User'), c.service, c.start, c.duration, {failed} FROM calls c
WHERE c.kind = 'entry' AND c.owner > :low AND c.owner <= :high
"""
# exits that no received entry answers to: the process at the other end reports nothing, or has not yet
_OUTGOING = """
SELECT c.service, coalesce(nullif(c.peer, ''), c.endpoint), c.start, c.duration, c.is_error
FROM segments s CROSS JOIN calls c ON c.owner = s.id
WHERE s.id > :low AND s.id <= :high AND c.kind = 'exit' AND NOT EXISTS (
    SELECT 1 FROM calls e
    WHERE e.parent_segment = s.segment AND e.parent_span = c.span AND e.kind = 'entry' AND e.owner <= :last
)
"""
# the services that have answered at a peer
_ANSWERED = """
SELECT DISTINCT c.service, coalesce(nullif(c.peer, ''), c.endpoint), e.service
FROM segments s CROSS JOIN calls c ON c.owner = s.id
JOIN calls e ON e.parent_segment = s.segment AND e.parent_span = c.span AND e.kind = 'entry' AND e.owner <= :last
WHERE s.id > :low AND s.id <= :high AND c.kind = 'exit'
"""


def services(store: Store, bounds: Mapping[str, int] = EVER, now: float | None = None) -> Answer:
    """Every service heard from, with the sums of its entry calls.

    :param bounds: `from` and `to`, as far as a time was asked for
    :param now: seconds since the epoch
    """
    version, entries = store.version, Sums(2)
    query = _ENTRIES.format(failed=failed_of("calls"), bounds=_bounded(bounds))
    for piece in pieces(store, "segments"):
        entries.add(store.read(query, {**piece, **bounds}))
    until, shown = _time(entries, bounds, now)
    sums = entries.folded(0).answers(until, shown)
    endpoints = Counter(service for service, _ in entries.by_key)
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for (service, _), heard in store.seen().items():
        seen[service].append(heard)
    return {
        "version": version,
        "trend": shown._asdict(),
        "services": [
            {
                "name": name,
                "instances": len(seen[name]),
                "endpoints": endpoints[name],
                **(sums.get(name) or Sum().answer(until, shown)),
                "last_seen": int(max(seen[name], default=0.0) * 1000),
            }
            for name in _names(store, sums)
        ],
    }


def _bounded(bounds: Mapping[str, int]) -> str:
    return " AND ".join(["true", *(_BOUNDS[name] for name in _BOUNDS if name in bounds)])


def _time(entries: Sums, bounds: Mapping[str, int], now: float | None) -> tuple[int, Trend]:
    """Until when the rate counts, and the trend."""
    present = int((time.time() if now is None else now) * 1000)
    until = min(bounds.get("to", present), present)
    first, last = entries.extent(present)
    if "from" not in bounds:
        return until, trend(first, last, "to" in bounds)
    return until, trend(bounds["from"], max(until, bounds["from"]), True)


def _names(store: Store, called: Iterable[str]) -> list[str]:
    """The services, whatever of them has come."""
    seen = (service for service, _ in store.seen())
    return sorted({*called, *seen, *store.statistics().services} - {""})


def endpoints(store: Store, service: str, bounds: Mapping[str, int] = EVER, now: float | None = None) -> Answer:
    """The entry endpoints of a service, the most called first.

    :param bounds: `from` and `to`, as far as a time was asked for
    :param now: seconds since the epoch
    """
    version, entries = store.version, Sums(1)
    query = _ENDPOINTS.format(failed=failed_of("calls"), bounds=_bounded(bounds))
    for piece in pieces(store, "segments"):
        entries.add(store.read(query, {**piece, **bounds, "service": service}))
    until, shown = _time(entries, bounds, now)
    answers = entries.answers(until, shown)
    found = sorted(({"name": name, **sums} for name, sums in answers.items()), key=lambda each: -each["calls"])
    left_out = max(len(found) - MOST, 0)
    return {"version": version, "trend": shown._asdict(), "left_out": left_out, "endpoints": found[:MOST]}


def service_map(store: Store) -> Answer:
    """The services and peers, and the calls between them."""
    version, incoming, outgoing = store.version, Sums(2), Sums(2)
    now = int(time.time() * 1000)
    answered: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for piece in pieces(store, "segments"):
        incoming.add(store.read(_INCOMING.format(failed=failed_of("c")), piece))
        outgoing.add(store.read(_OUTGOING, piece))
        for caller, peer, service in store.read(_ANSWERED, piece):
            answered[caller, peer].add(service)
    called = incoming.folded(1).answers(now)
    _attribute(outgoing, incoming, answered)
    edges = [
        {"from": caller, "to": called, **sums}
        for each in (incoming, outgoing)
        for (caller, called), sums in each.answers(now).items()
    ]
    names = _names(store, called)
    nodes = [_node(name, "service", called.get(name) or Sum().answer(now)) for name in names]
    peers = outgoing.folded(1).answers(now)
    for name, sums in incoming.folded(0).answers(now).items():
        peer = peers.setdefault(name, {"calls": 0, "errors": 0, "through": 0, "p50": None})
        for each in ("calls", "errors", "through"):
            peer[each] += sums[each]
    nodes += [_node(name, "peer", peers[name]) for name in sorted(peers.keys() - set(names))]
    return {"version": version, "nodes": nodes, "edges": edges}


def _attribute(outgoing: Sums, incoming: Sums, answered: Mapping[tuple[str, str], set[str]]) -> None:
    """A call that has no answer, or none yet, counts as a call to the service that answers its caller at that peer. If
    several services do, the call stays one to the peer."""
    for (caller, peer), services in answered.items():
        if len(services) == 1 and (caller, peer) in outgoing.by_key:
            sums = outgoing.by_key.pop((caller, peer))
            incoming.by_key.setdefault((caller, *services), Sum()).merge(sums)


def _node(name: str, kind: str, sums: Answer) -> Answer:
    return {"name": name, "kind": kind, **{key: sums[key] for key in ("calls", "errors", "through", "p50")}}
