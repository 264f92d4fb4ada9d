"""The program that asks a database by a pool under an open load.

`python -m stress.lessons.querying URL SIZE RATE SECONDS WAIT`: prints one line of JSON. A request begins when it is
due, whatever became of those before, and its latency counts from then.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine

import asyncpg

import swagent

from .lesson import percentile

_WARM_UP_SECONDS = 1.0


async def run(url: str, size: int, rate: float, seconds: float, wait: float) -> dict[str, float]:
    """Ask, and wait until all is answered."""
    latencies: list[float] = []
    failed = 0
    async with asyncpg.create_pool(url, min_size=size, max_size=size) as pool:

        async def ask(due: float) -> None:
            nonlocal failed
            with swagent.entry_span("GET:/row"):
                try:
                    await pool.fetchval("SELECT 1 FROM pg_sleep($1)", wait)
                except (asyncpg.PostgresError, OSError):
                    failed += 1
            latencies.append(time.perf_counter() - due)

        # the agent starts with the first records, and each connection with its first query: neither is measured
        await open_load(ask, time.perf_counter(), rate / 4, _WARM_UP_SECONDS)
        latencies.clear()
        began = time.perf_counter()
        asked = await open_load(ask, began, rate, seconds)
        took = time.perf_counter() - began
    return {
        "asked": asked / seconds, "answered": (asked - failed) / took, "failed": failed,
        "p50": percentile(latencies, 0.5), "p99": percentile(latencies, 0.99),
    }  # fmt: skip


async def open_load(
    ask: Callable[[float], Coroutine[None, None, None]], began: float, rate: float, seconds: float
) -> int:
    """Ask so often a second from a moment on, whatever is answered; returns how many were asked once all have ended."""
    tasks: list[asyncio.Task[None]] = []
    for number in range(int(rate * seconds)):
        due = began + number / rate
        if (left := due - time.perf_counter()) > 0:
            await asyncio.sleep(left)
        tasks.append(asyncio.create_task(ask(due)))
    await asyncio.gather(*tasks)
    return len(tasks)


def main(url: str, size: str, rate: str, seconds: str, wait: str) -> None:
    """Run it."""
    print(json.dumps(asyncio.run(run(url, int(size), float(rate), float(seconds), float(wait)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
