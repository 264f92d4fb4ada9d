"""A program whose machine has nothing to spare: no descriptors, no threads, no collector and so no memory, no stderr.

python starved_app.py BACKEND      what became of its records, as JSON
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from swagent import Agent, Config, local_span
from swagent.hosting.agent_thread import loop_of
from swagent.ledger import SignalStatistics
from swagent.meters import Counter
from swagent.runtime.transport_choice import find_transport

log = logging.getLogger("shop")
RECORDS = 3
# Seconds for which nothing can be had: long enough for a first attempt, and for it to have failed.
HUNGER = 0.3


def record(count: int = RECORDS) -> None:
    for _ in range(count):
        with local_span("work"):
            pass


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Let nothing be opened."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # the lowest number that is free: all below it are taken
    free = os.open("/dev/null", os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    try:
        try:
            socket.socket().close()
        except OSError:
            yield
        else:
            raise AssertionError("there are descriptors left")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@contextmanager
def no_threads() -> Iterator[None]:
    """Let no thread be started, as the system refuses it."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    start = threading.Thread.start
    threading.Thread.start = refuse  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]


async def hunger(config: Config, lack: Any) -> dict[str, Any]:
    """Start where something lacks, and go on where it is there again."""
    # starting an agent would look for it in files
    agent = Agent(config, transport=find_transport(config))
    with lack():
        await agent.__aenter__()
        record()
        await anyio.sleep(HUNGER)
        during = agent.statistics().segment
    recovered = await agent.flush(20.0)
    await agent.__aexit__(None, None, None)
    after = agent.statistics().segment
    return {"waiting": during.queued + during.in_flight, "recovered": recovered, "confirmed": after.confirmed}


async def outage(config: Config) -> dict[str, Any]:
    """Fill everything that there is to fill while no collector is there, and more than that."""
    counters = [Counter("filler", labels={"number": str(number), "text": "x" * 100}) for number in range(2_000)]
    text = "x" * 1_500
    async with Agent(config) as agent:
        before = resident()
        for number in range(12_000):
            with local_span("work") as span:
                span.tag("text", text)
            log.warning("%d %s", number, text)
            if number % 3_000 == 0:
                counters[number % 2_000].increment()
                await anyio.sleep(0.1)  # for a report of all meters
        gc.collect()
        grown = resident() - before
        statistics = agent.statistics()
    return {
        "grown": grown,
        "held": sum(each.queued_bytes for each in statistics),
        "full": [each.signal.value for each in statistics if _was_full(each)],
        "balanced": statistics.balanced and agent.statistics().balanced,
    }


def _was_full(statistics: SignalStatistics) -> bool:
    """Whether there was no room, or none for ordinary records."""
    return bool(statistics.refused.keys() & {"full", "shed"}) or "evicted" in statistics.dropped


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def main(backend: str) -> None:
    config = Config.from_env(backend=backend, log_reporter_active=False, shutdown_timeout=1.0)
    nowhere: dict[str, Any] = {"collector": "127.0.0.1:9", "kafka_bootstrap_servers": "127.0.0.1:9"}
    away = Config.from_env(backend=backend, meter_reporter_period=0.05, shutdown_timeout=0.2, **nowhere)
    # so that nothing needs to be imported any more
    async with Agent(config):
        record(0)
    found = {"descriptors": await hunger(config, no_descriptors), "outage": await outage(away)}
    # nor a place for what the agent has to say of it
    sys.stderr.close()
    found["threads"] = await hunger(config, no_threads)
    print(json.dumps(found))


if __name__ == "__main__":
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger("swagent").addHandler(logging.StreamHandler())
    library, options = loop_of(sys.argv[1])
    anyio.run(main, sys.argv[1], backend=library, backend_options=options)
