"""Delivers one trace to the embedded collector, with nothing but the installed wheel.

python deliver.py asyncio|trio
"""

from __future__ import annotations

import asyncio
import sys
import threading

import swagent
from swagent.collector.server import Collector


def main(backend: str) -> None:
    """Run a collector in a thread, report to it, and compare."""
    collector = Collector()
    running, ending = threading.Event(), threading.Event()

    async def collect() -> None:
        async with collector:
            running.set()
            await asyncio.get_running_loop().run_in_executor(None, ending.wait)

    thread = threading.Thread(target=asyncio.run, args=(collect(),))
    thread.start()
    running.wait()
    try:
        swagent.start(swagent.Config(service="wheel", collector=collector.address, backend=backend))
        with swagent.entry_span("GET:/wheel"), swagent.local_span("inside"):
            pass
        statistics = swagent.stop()
        assert statistics is not None
        assert statistics.complete, statistics
        assert [len(segment.spans) for segment in collector.store.segments] == [2]
    finally:
        ending.set()
        thread.join()
    print(f"the wheel delivers on {backend}: {statistics}")


if __name__ == "__main__":
    main(sys.argv[1])
