"""One process over time: its meters as curves, and what happened to it."""

from __future__ import annotations

from typing import Any

from ..store.store import Store
from .instances import events
from .meters import series

Answer = dict[str, Any]
CHARTED = (
    "swagent_loop_lag",
    "loop_blocked",
    "swagent_tasks",
    "instance_pvm_gc_time",
    "swagent_memory",
    "instance_pvm_process_mem_utilization",
    "instance_pvm_process_cpu_utilization",
    "instance_pvm_thread_active_count",
    "swagent_records_queued",
    "swagent_records_in_flight",
    "swagent_records_spilled",
    "swagent_records_dropped",
    "swagent_records_refused",
)
"""The meters that show the state of a process."""


def process(store: Store, service: str, instance: str, since: int) -> Answer:
    """The curves of those meters that the process has, and its events.

    :param since: the time before which nothing is wanted, in milliseconds since the epoch
    """
    version = store.version
    found = [series(store, service, instance, name, since) for name in CHARTED]
    reported = events(store, service)["events"]
    return {
        "version": version,
        "meters": [each for each in found if each["series"]],
        "events": [each for each in reported if each["instance"] in ("", instance) and each["time"] >= since],
    }
