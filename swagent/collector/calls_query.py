"""Sums over calls: services, endpoints, the map. Times in milliseconds, rates between 0 and 1."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from .database import Row
from .store import Store

Answer = dict[str, Any]
# each query gives a key of one or two columns, then the start, the duration and whether it failed
_ENTRIES = "SELECT service, start, duration, is_error FROM calls WHERE kind = 'entry'"
_ENDPOINTS = "SELECT endpoint, start, duration, is_error FROM calls WHERE kind = 'entry' AND service = ?"
_INCOMING = """
SELECT coalesce(nullif(parent_service, ''), 'User'), service, start, duration, is_error FROM calls WHERE kind = 'entry'
"""
# exits that no received entry answers to: what is at the other end reports nothing
_OUTGOING = """
SELECT c.service, coalesce(nullif(c.peer, ''), c.endpoint), c.start, c.duration, c.is_error
FROM calls c JOIN segments s ON s.id = c.owner
WHERE c.kind = 'exit' AND NOT EXISTS (
    SELECT 1 FROM calls e WHERE e.parent_segment = s.segment AND e.parent_span = c.span AND e.kind = 'entry'
)
"""


class _Sum:
    """What is added up of calls with one key."""

    __slots__ = ("durations", "errors", "first", "last")

    def __init__(self) -> None:
        self.durations: list[int] = []
        self.errors = 0
        self.first, self.last = 2**63, -(2**63)

    def answer(self) -> Answer:
        """The rate is over the time between the first and the last call, one minute at least."""
        ordered = sorted(self.durations)
        calls = len(ordered)
        minutes = max((self.last - self.first) / 60_000, 1.0)
        return {
            "calls": calls,
            "errors": self.errors,
            "error_rate": self.errors / calls if calls else 0.0,
            **{f"p{part}": ordered[-(-calls * part // 100) - 1] if calls else None for part in (50, 95, 99)},
            "calls_per_minute": round(calls / minutes, 2),
        }


def _sums(rows: Iterable[Row], width: int) -> dict[Any, Answer]:
    """The sums by key.

    :param width: how many columns are the key
    """
    sums: dict[Any, _Sum] = {}
    for row in rows:
        key = row[0] if width == 1 else row[:width]
        total = sums.get(key)
        if total is None:
            total = sums[key] = _Sum()
        start, duration, is_error = row[width:]
        total.durations.append(duration)
        total.errors += is_error
        if start < total.first:
            total.first = start
        if start > total.last:
            total.last = start
    return {key: sums[key].answer() for key in sorted(sums)}


def services(store: Store) -> Answer:
    """Every service heard from, with the sums of its entry calls."""
    sums = _sums(store.read(_ENTRIES), 1)
    endpoints: dict[str, int] = dict(
        store.read("SELECT service, count(DISTINCT endpoint) FROM calls WHERE kind = 'entry' GROUP BY 1")
    )
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for (service, _), time in store.seen().items():
        seen[service].append(time)
    names = sorted({*sums, *seen, *store.statistics().services} - {""})
    return {
        "version": store.version,
        "services": [
            {
                "name": name,
                "instances": len(seen[name]),
                "endpoints": endpoints.get(name, 0),
                **(sums.get(name) or _Sum().answer()),
                "last_seen": int(max(seen[name], default=0.0) * 1000),
            }
            for name in names
        ],
    }


def endpoints(store: Store, service: str) -> Answer:
    """The entry endpoints of a service, the most called first."""
    found = [{"name": name, **sums} for name, sums in _sums(store.read(_ENDPOINTS, (service,)), 1).items()]
    return {"version": store.version, "endpoints": sorted(found, key=lambda each: -each["calls"])}


def service_map(store: Store) -> Answer:
    """Who calls whom."""
    edges = [
        {"from": caller, "to": called, **sums}
        for query in (_INCOMING, _OUTGOING)
        for (caller, called), sums in _sums(store.read(query), 2).items()
    ]
    services_there = {each["name"]: each for each in services(store)["services"]}
    nodes = [
        {"name": name, "kind": "service", **{key: each[key] for key in ("calls", "errors", "p50")}}
        for name, each in services_there.items()
    ]
    calls, errors = Counter[str](), Counter[str]()
    for edge in edges:
        for name in (edge["from"], edge["to"]):
            if name not in services_there:
                calls[name] += edge["calls"]
                errors[name] += edge["errors"]
    medians = {edge["to"]: edge["p50"] for edge in edges}
    nodes += [
        {"name": name, "kind": "peer", "calls": calls[name], "errors": errors[name], "p50": medians.get(name)}
        for name in sorted(calls)
    ]
    return {"version": store.version, "nodes": nodes, "edges": edges}
