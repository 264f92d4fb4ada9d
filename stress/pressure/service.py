"""One service: `python -m stress.pressure.service NUMBER ADDRESS SHEDDING RATE SECONDS`.

Says that it is ready, and begins at the first line that it reads. It hands finished requests over as the middleware
does, at a steady rate. Then it says how many it made and what became of them, and at the next line it flushes and ends.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import anyio
import anyio.to_thread

from stress.pipeline import memory
from swagent import Agent, Config
from swagent.record.trace.ids import new_number

from .traces import request_of

_TICK = 0.02
_LONGEST_FLUSH = 120.0


async def serve(number: int, address: str, sheds: bool, rate: float, seconds: float) -> None:
    """Serve for so many seconds."""
    # a batch of a collector as slow as this takes its time
    config = Config(service=f"shop-{number}", collector=address, trace_shedding=sheds, request_timeout=60.0,
                    pvm_meter_reporter_active=False, profile_active=False)  # fmt: skip
    async with Agent(config) as agent:
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        made, samples = await _make(agent, number, rate, seconds)
        found = agent.statistics().segment
        print(json.dumps({"made": made, "refused": dict(found.refused), "samples": samples}), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await agent.flush(_LONGEST_FLUSH)
        found = agent.statistics().segment
        print(json.dumps({"confirmed": found.confirmed, "dropped": dict(found.dropped), "balanced": found.balanced}))


async def _make(agent: Agent, number: int, rate: float, seconds: float) -> tuple[int, list[tuple[float, int]]]:
    """How many requests were made, and the memory second by second."""
    offer: Any = agent.tracer.offer_request
    began, made = time.monotonic(), 0
    samples: list[tuple[float, int]] = []
    while (at := time.monotonic() - began) < seconds:
        for _ in range(math.ceil(at * rate) - made):
            offer(request_of(number, made, new_number(), time.monotonic()))
            made += 1
        if at >= len(samples):
            samples.append((at, memory.resident()))
        await anyio.sleep(_TICK)
    return made, samples


def main(number: str, address: str, sheds: str, rate: str, seconds: str) -> None:
    """Serve on asyncio."""
    anyio.run(serve, int(number), address, sheds == "on", float(rate), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
