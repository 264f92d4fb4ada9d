"""Endpoints that got worse with a start of their service, or with a moment that was named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ..api.failed_calls import failed_of
from ..api.pieces import pieces
from ..api.sides import LEAST, Side, differences
from ..store.records import Event
from ..store.store import Store
from .finding import Finding, view_link
from .words import duration, percent

MOST_STARTS = 4
"""Starts of a service that are looked at, the newest."""
_APART = 500  # milliseconds: the processes of a service that start within that time are one start
_MUCH, _MUCH_MS = 1.3, 8
_WARM_UP = 5  # requests after a start that do not count: imports and connections
_ENTRIES = """
SELECT service, endpoint, start, duration, {failed} = 1 FROM calls
WHERE kind = 'entry' AND owner > :low AND owner <= :high AND start >= :from AND start <= :to {only}
"""


def regressions(store: Store, bounds: Mapping[str, int], at: int | None = None) -> Iterator[Finding]:
    """The endpoints that got worse.

    :param at: a moment, milliseconds since the epoch; None: the starts of services
    :raises StoreError: when the store cannot be read
    """
    moments = {"": [at]} if at is not None else starts(store, bounds)
    if not any(moments.values()):
        return
    calls: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    names = {f"service{number}": name for number, name in enumerate(moments)} if at is None else {}
    only = f"AND service IN ({', '.join(f':{name}' for name in names)})" if names else ""
    values: dict[str, Any] = {"from": bounds.get("from", 0), "to": bounds.get("to", 2**62), **names}
    for piece in pieces(store, "segments"):
        for service, endpoint, *call in store.read(
            _ENTRIES.format(only=only, failed=failed_of("calls")), {**piece, **values}
        ):
            calls.setdefault((service, endpoint), []).append((call[0], call[1], call[2]))
    for (service, endpoint), found in calls.items():
        worst = _worst(service, endpoint, found, moments.get(service, moments.get("", [])), at is not None)
        if worst is not None:
            yield worst


def starts(store: Store, bounds: Mapping[str, int]) -> dict[str, list[int]]:
    """When the processes of each service started: the newest starts of each."""
    found: dict[str, list[int]] = {}
    for event in store.records(Event):
        if event.name == "Start" and bounds.get("from", 0) <= event.start_time <= bounds.get("to", 2**62):
            known = found.setdefault(event.service, [])
            if not known or event.start_time - known[-1] > _APART:
                known.append(event.start_time)
    return {service: sorted(known)[-MOST_STARTS:] for service, known in found.items()}


def _worst(
    service: str, endpoint: str, calls: list[tuple[int, int, int]], moments: list[int], is_named: bool
) -> Finding | None:
    """The worst change of an endpoint."""
    calls.sort()
    found = (_change(service, endpoint, calls, moment, is_named) for moment in moments)
    return max(filter(None, found), key=lambda each: (each.ms, each.failures), default=None)


def _change(
    service: str, endpoint: str, calls: list[tuple[int, int, int]], moment: int, is_named: bool
) -> Finding | None:
    before, after, skipped = Side(), Side(), 0
    for start, took, failed in calls:
        if start < moment:
            before.add(took, failed, 0)
        elif skipped < _WARM_UP and not is_named:
            skipped += 1
        else:
            after.add(took, failed, 0)
    if min(before.calls, after.calls) < LEAST:
        return None
    before.durations.sort()
    after.durations.sort()
    found, old, new = differences(before, after), before.answer(), after.answer()
    texts: list[str] = []
    ms = failures = 0
    for name in ("p50", "p95"):
        if found[name] > 0 and new[name] >= _MUCH * old[name] and new[name] - old[name] >= _MUCH_MS:
            texts.append(f"{name} {duration(old[name])} → {duration(new[name])}")
            ms = max(ms, (new[name] - old[name]) * after.calls // (1 if name == "p50" else 20))
    if found["error_rate"] > 0:
        texts.append(f"errors {percent(old['error_rate'])} → {percent(new['error_rate'])}")
        failures = round((new["error_rate"] - old["error_rate"]) * after.calls)
    if not texts:
        return None
    clock = datetime.fromtimestamp(moment / 1000).astimezone().strftime("%H:%M:%S")
    since = f"since {clock}" if is_named else f"since {service} started at {clock}"
    calls_text = f"{before.calls:,} calls before, {after.calls:,} after"
    return Finding(
        "regression", f"{service} · {endpoint} {since}: {', '.join(texts)} ({calls_text})", service, endpoint, "high",
        view_link("services", at=str(moment)), count=after.calls, ms=ms, failures=failures,
    )  # fmt: skip
