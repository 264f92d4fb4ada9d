"""Instances, events, and the state of the collector itself."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..store.records import Event
from ..store.rows import other_of
from ..store.store import Store

Answer = dict[str, Any]
ALIVE_SECONDS = 60.0


def states(store: Store, now: float) -> dict[tuple[str, str], str]:
    """Of each service's instance, whether it is `alive`, has `stopped` as it said, or is `silent`.

    :param now: seconds since the epoch
    """
    ended = store.ended()
    return {
        key: "stopped" if key in ended else "alive" if now - last_seen <= ALIVE_SECONDS else "silent"
        for key, last_seen in store.seen().items()
    }


def instances(store: Store, service: str, now: float) -> Answer:
    """The instances of a service, or of all.

    :param now: seconds since the epoch
    """
    known = {(each.service, each.instance): each for each in store.instances}
    found_states = states(store, now)
    meters: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for meter in store.meters:
        meters[meter.service, meter.instance].add(meter.name)
    found: list[Answer] = []
    for key, last_seen in sorted(store.seen().items()):
        if service not in ("", key[0]):
            continue
        properties = dict(known[key].properties) if key in known else {}
        found.append(
            {
                "service": key[0],
                "name": key[1],
                "properties": properties,
                "language": properties.get("language", ""),
                "alive": found_states[key] == "alive",
                "state": found_states[key],
                "last_seen": int(last_seen * 1000),
                "meters": sorted(meters[key]),
            }
        )
    return {"version": store.version, "instances": found}


def events(store: Store, service: str) -> Answer:
    """The events, newest first; of one that was reported twice, its start and its end, the later report."""
    latest: dict[str, Event] = {}
    version = store.version
    for number, text in enumerate(store.texts(Event)):
        event = other_of(Event, text)
        if service in ("", event.service):
            latest[event.uuid or f"#{number}"] = event
    newest_first = sorted(latest.values(), key=lambda event: -event.start_time)
    return {
        "version": version,
        "events": [
            {
                "time": event.start_time,
                "end": event.end_time or None,
                "service": event.service,
                "instance": event.instance,
                "endpoint": event.endpoint,
                "name": event.name,
                "message": event.message,
                "type": event.kind,
                "parameters": dict(event.parameters),
            }
            for event in newest_first
        ],
    }


def status(store: Store) -> Answer:
    """How many records are kept, and the limits."""
    counts = store.counts()
    expired, evicted = store.dropped()
    limits = store.limits
    return {
        "version": store.version,
        "segments": counts["segments"],
        "logs": counts["logs"],
        "meters": counts["meters"],
        "services": len(store.statistics().services),
        "dropped_for_age": expired,
        "dropped_for_count": evicted,
        "limits": {
            "segments": limits.segments,
            "logs": limits.logs,
            "meters": limits.points,
            "max_age_s": limits.max_age,
        },
        "store": store.path or "memory",
        "started_at": int(store.started_at * 1000),
    }
