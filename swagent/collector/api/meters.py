"""Meters as lists and as curves, and the agents' own ledgers, which they report as meters."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..store.records import Event, Meter
from ..store.rows import other_of
from ..store.store import Store
from .instances import states

Answer = dict[str, Any]
Buckets = Sequence[Sequence[float]]
MAX_POINTS = 5_000
"""Of one answer, the newest."""
_QUANTILES = (0.5, 0.99)
_LEDGER = "swagent_records_"
_POINTS = """
SELECT labels, time, value, buckets FROM series s CROSS JOIN points p ON p.series = s.id
WHERE service = ? AND instance = ? AND name = ? AND time >= ? ORDER BY p.id DESC LIMIT ?
"""


def meters(store: Store, service: str, instance: str) -> Answer:
    """The meters of a service, or of one instance, or of all; each name once an instance."""
    found: dict[tuple[str, str, str], Answer] = {}
    for meter in store.meters:
        if service not in ("", meter.service) or instance not in ("", meter.instance):
            continue
        kind = "single" if meter.buckets is None else "histogram"
        head = {"service": meter.service, "instance": meter.instance, "name": meter.name, "kind": kind}
        entry = found.setdefault((meter.service, meter.instance, meter.name), {**head, "labels": []})
        entry["labels"].append(dict(meter.labels))
        entry["last"] = _finite(meter.value)
    return {"version": store.version, "meters": list(found.values())}


def series(store: Store, service: str, instance: str, name: str, since: int) -> Answer:
    """The curves of one meter: one for each set of labels; of a histogram, quantiles and the count of each report. A
    name that was given to another kind of meter is shown as what it is now."""
    rows = store.read(_POINTS, (service, instance, name, since, MAX_POINTS))
    curves: defaultdict[str, list[Any]] = defaultdict(list)
    is_histogram = bool(rows) and rows[0][3] is not None
    for labels, time, value, buckets in reversed(rows):
        if (buckets is not None) == is_histogram:
            curves[labels].append((time, value, buckets))
    answer: list[Answer] = []
    for labels, points in curves.items():
        names = dict(json.loads(labels))
        if is_histogram:
            answer += _histogram_curves(names, [(time, buckets) for time, _, buckets in points])
        else:
            answer.append({"labels": names, "points": [[time, _finite(value)] for time, value, _ in points]})
    return {"name": name, "kind": "histogram" if is_histogram else "single", "series": answer}


def _histogram_curves(labels: dict[str, str], points: list[tuple[int, str]]) -> list[Answer]:
    """Agents report running totals. So each point is the difference to the point before."""
    quantiles: dict[float, list[Any]] = {each: [] for each in _QUANTILES}
    counts: list[Any] = []
    before: Buckets = ()
    for time, text in points:
        buckets: Buckets = json.loads(text)
        new = _difference(buckets, before)
        before = buckets
        counts.append([time, sum(count for _, count in new)])
        for each, curve in quantiles.items():
            curve.append([time, _finite(quantile(new, each))])
    curves = [
        {"labels": {**labels, "quantile": f"p{each * 100:g}"}, "points": curve} for each, curve in quantiles.items()
    ]
    return [*curves, {"labels": {**labels, "quantile": "count"}, "points": counts}]


def _difference(buckets: Buckets, before: Buckets) -> Buckets:
    known = {bound: count for bound, count in before}  # noqa: C416  (pairs come as lists)
    new = [(bound, count - known.get(bound, 0)) for bound, count in buckets]
    return new if all(count >= 0 for _, count in new) else buckets  # the agent began anew


def quantile(buckets: Buckets, part: float) -> float | None:
    """The value below which a given part of the counted values lies, as if they were spread evenly within each bucket.
    None if nothing was counted.

    :param buckets: lower bounds, and how many lie between each and the next one
    """
    ordered = sorted((bound, count) for bound, count in buckets)
    wanted = part * sum(count for _, count in ordered)
    if not wanted:
        return None
    for number, (bound, count) in enumerate(ordered):
        if count and wanted <= count:
            low = bound if math.isfinite(bound) else 0.0
            high = ordered[number + 1][0] if number + 1 < len(ordered) else low
            return low + (high - low) * wanted / count
        wanted -= count
    return ordered[-1][0]


def ledgers(store: Store, now: float) -> Answer:
    """The ledger of each swagent agent, by its last report. An agent that is silent reports no more: the records that
    it had on their way then may have arrived, or not. One that has stopped has sent its last ledger behind all other
    records, in the event of its end.

    :param now: seconds since the epoch
    """
    known = states(store, now)
    agents: dict[tuple[str, str], Answer] = {}
    for meter in store.meters:
        if meter.name.startswith(_LEDGER) and meter.value is not None and math.isfinite(meter.value):
            state = known.get((meter.service, meter.instance), "silent")
            head: Answer = {
                "service": meter.service,
                "instance": meter.instance,
                "state": state,
                "time": 0,
                "signals": {},
            }
            agent = agents.setdefault((meter.service, meter.instance), head)
            agent["time"] = max(agent["time"], meter.timestamp)
            _enter(agent["signals"], meter)
    for key, event in _endings(store).items():
        if known.get(key) == "stopped":
            head = {"service": key[0], "instance": key[1], "state": "stopped", "time": 0, "signals": {}}
            _end(agents.setdefault(key, head), event)
    for agent in agents.values():
        agent["signals"] = list(agent["signals"].values())
        agent.setdefault("is_final", False)
    return {"version": store.version, "agents": list(agents.values())}


def _endings(store: Store) -> dict[tuple[str, str], Event]:
    """The last event by which each agent said that it ends, with its ledger."""
    events = (other_of(Event, text) for text in store.texts(Event))
    return {event.source: event for event in events if event.name == "Shutdown" and event.parameters}


def _end(agent: Answer, event: Event) -> None:
    """Put the last ledger of an agent, sent behind all other records, in the place of what its meters said."""
    signals = {name: _read(name, text) for name, text in event.parameters.items()}
    if event.end_time >= agent["time"] and any(signals.values()):
        agent["signals"] = {name: signal for name, signal in signals.items() if signal}
        agent["time"], agent["is_final"] = event.end_time, True


def _read(name: str, text: str) -> Answer:
    """The counts of a signal, `offered=3 confirmed=2 dropped.rejected=1`; empty where it is another text."""
    signal = _nothing_of(name)
    for what, _, number in (part.partition("=") for part in text.split()):
        kind, _, reason = what.partition(".")
        if not number.isdecimal() or kind not in signal or isinstance(signal[kind], dict) != bool(reason):
            return {}
        if reason:
            signal[kind][reason] = int(number)
        else:
            signal[kind] = int(number)
    return signal if text else {}


def _nothing_of(name: str) -> Answer:
    counts: Answer = dict.fromkeys(("offered", "confirmed", "queued", "in_flight", "spilled", "recovered"), 0)
    return {"signal": name, **counts, "refused": {}, "dropped": {}}


def _enter(signals: dict[str, Answer], meter: Meter) -> None:
    labels = dict(meter.labels)
    name = labels.get("signal", "")
    signal = signals.setdefault(name, _nothing_of(name))
    what, number = meter.name[len(_LEDGER) :], int(meter.value or 0)
    if what in ("refused", "dropped"):
        signal[what][labels.get("reason", "")] = number
    elif what in signal:
        signal[what] = number


def _finite(value: float | None) -> float | None:
    """JSON knows neither infinities nor NaN."""
    return value if value is not None and math.isfinite(value) else None
