"""A program that spills to disk.

python spilling_app.py BACKEND COUNT

It records so many segments at once, says so when none of them is left to be written to disk, and goes on until it is
killed. With COUNT 0 it delivers what another one has left, prints its ledger as JSON, and ends.
"""

from __future__ import annotations

import json
import sys
from typing import cast

import anyio

from kit.client import until
from swagent import Agent, Config, local_span
from swagent.hosting.agent_thread import loop_of
from swagent.pipeline.spill.channel import SpillingChannel
from swagent.signals import Signal


async def live(count: int) -> None:
    config = Config.from_env(log_reporter_active=False, meter_reporter_active=False, event_reporter_active=False)
    async with Agent(config) as agent:
        for number in range(count):
            with local_span(f"work {number}"):
                pass
        channel = cast("SpillingChannel", agent.pipelines.channels[Signal.SEGMENT])
        agent.statistics()  # takes in what is pending
        await until(lambda: not channel.backlog.staged, 30)
        if count:
            print("spilled", flush=True)
            await anyio.sleep_forever()
        await until(lambda: agent.statistics().segment.recovered, 30)
        await until(lambda: not channel.backlog.count, 30)
        assert await agent.flush(30)
    found = agent.statistics().segment
    print(json.dumps({"recovered": found.recovered, "confirmed": found.confirmed, "dropped": dict(found.dropped)}))


if __name__ == "__main__":
    backend, options = loop_of(sys.argv[1])
    anyio.run(live, int(sys.argv[2]), backend=backend, backend_options=options)
