"""The processes that report: the names of each, whether it lives, when it began, and the ledger of its records."""

from __future__ import annotations

import math
from typing import Any

from ..store.records import Event
from ..store.rows import other_of
from ..store.store import Store
from .instances import instances
from .meters import ledgers

Answer = dict[str, Any]
NOW = (
    "swagent_loop_lag",
    "swagent_tasks",
    "swagent_memory",
    "instance_pvm_process_mem_utilization",
    "instance_pvm_process_cpu_utilization",
)
"""The meters whose latest value is shown beside a process."""
_KEPT = ("service", "state", "last_seen", "properties", "language", "meters")


def processes(store: Store, now: float) -> Answer:
    """The processes of all services, by service, the one that began last first.

    :param now: seconds since the epoch
    """
    version = store.version
    known = instances(store, "", now)["instances"]
    books = {(each["service"], each["instance"]): each for each in ledgers(store, now)["agents"]}
    values = _latest(store)
    began = _beginnings(store)
    found: list[Answer] = []
    for each in known:
        key = each["service"], each["name"]
        book = books.get(key)
        found.append(
            {
                **{name: each[name] for name in _KEPT},
                "instance": each["name"],
                **_names(each["properties"]),
                "now": values.get(key, {}),
                "started": began.get(key),
                "signals": book["signals"] if book else [],
                "reported": book["time"] if book else None,
                "is_final": bool(book and book["is_final"]),
            }
        )
    found.sort(key=lambda each: (each["service"], -(each["started"] or 0), each["instance"]))
    return {"version": version, "processes": found}


def _names(properties: dict[str, str]) -> Answer:
    """How people call a process; empty where its agent does not say it."""
    python = f"{properties.get('python_implementation', '')} {properties.get('python_version', '')}"
    return {
        "host": properties.get("hostname", ""),
        "pid": properties.get("Process No.", ""),
        "runtime": python.strip() or properties.get("python", "") or properties.get("language", ""),
    }


def _latest(store: Store) -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for meter in store.meters:
        if meter.name in NOW and meter.value is not None and math.isfinite(meter.value):
            found.setdefault((meter.service, meter.instance), {})[meter.name] = meter.value
    return found


def _beginnings(store: Store) -> dict[tuple[str, str], int]:
    """When each said that it began, the last time."""
    found: dict[tuple[str, str], int] = {}
    for text in store.texts(Event):
        event = other_of(Event, text)
        if event.name == "Start":
            found[event.source] = max(event.start_time, found.get(event.source, 0))
    return found
