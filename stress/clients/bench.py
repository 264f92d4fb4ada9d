"""Arguments and result of a bench: the process of one, `python -m stress.clients.bench NAME ADDRESS SECONDS`."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module

Bench = Callable[[str, float], Awaitable[int]]
"""Sends to an address for so many seconds, waits until all is acknowledged, and returns how many records that were."""
MODULES: Mapping[str, str] = {
    "kafka": "stress.clients.kafka",
    "http": "stress.clients.http",
    "handover": "stress.clients.handover",
}

_WARM_UP_SECONDS = 0.2


def benches(group: str) -> Mapping[str, Bench]:
    """The benches of a group by their names. Imports the libraries that it compares."""
    found: Mapping[str, Bench] = import_module(MODULES[group]).BENCHES
    return found


def main(group: str, name: str, address: str, seconds: str) -> None:
    """Run one, and print what it gave as a line of JSON."""
    bench = benches(group)[name]

    async def run() -> dict[str, float]:
        # what is imported and connected at first is not measured
        warm = await bench(address, _WARM_UP_SECONDS)
        began, cpu = time.perf_counter(), time.process_time()
        sent = await bench(address, float(seconds))
        return {
            "warm": warm,
            "sent": sent,
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - cpu,
            "rss_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }

    print(json.dumps(asyncio.run(run())), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
