"""The process that is measured: an agent, and producers. `python -m stress.pipeline.sender PROTOCOL ADDRESS LOOP`.

Reads orders, one line of JSON each: what to do, and with which arguments (see `_obey`). Answers each with one line of
JSON, until its input ends.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from swagent import Agent, Config
from swagent.ledger import SignalStatistics

from . import memory
from .figures import calibrate, percentile
from .room import Room
from .watch import Watch
from .work import finished, record

_LONGEST_WAIT = 60.0
_TRIAL = 200
_TICK = 0.01
_MICRO_ROUNDS, _MICRO_RECORDS = 15, 1000


class Sender:
    """One agent under orders."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._watch = Watch(agent)
        self._forms: dict[str, Callable[[], None]] = {"recorded": record, "finished": finished(agent.tracer)}
        self._record_bytes = 0.0

    async def warm_up(self) -> None:
        """Until the collector has confirmed a first few segments."""
        for _ in range(_TRIAL):
            record()
        waiting = self._statistics()
        self._record_bytes = waiting.queued_bytes / waiting.queued
        await self._settle()

    async def pump(self, form: str, producers: int, seconds: float, turn: int) -> dict[str, Any]:
        """As fast as it goes, for so many seconds and until the last acknowledgement.

        :param turn: how many segments a producer finishes before the others have their turn
        """
        room = self._watch.begin(self._record_bytes * 1.05)
        before, calibration = self._statistics(), calibrate()
        start = anyio.Event()
        team = [_Producer(self._forms[form], room, turn, start) for _ in range(producers)]
        async with anyio.create_task_group() as group:
            for each in team:
                await group.start(each.produce)
            memory.forget_peak()
            resident, cpu, began = memory.resident(), time.process_time(), time.monotonic()
            for each in team:
                each.until = began + seconds
            start.set()
        await self._settle()
        cpu = time.process_time() - cpu
        found = {"seconds": self._watch.last - began, "cpu": cpu, "calibration": calibration,
                 "rss_before": resident, "rss_peak": memory.peak()}  # fmt: skip
        return {**found, **self._ledger_since(before), **self._latencies()}

    async def pace(self, rate: float, seconds: float) -> dict[str, Any]:
        """At a steady rate, whatever becomes of the records; what the memory did meanwhile, second by second."""
        self._watch.begin(self._record_bytes)
        before, cpu, began = self._statistics(), time.process_time(), time.monotonic()
        memory.forget_peak()
        resident = memory.resident()
        samples: list[tuple[float, int, int]] = []
        made = 0
        while (at := time.monotonic() - began) < seconds:
            for _ in range(math.ceil(at * rate) - made):
                record()
                made += 1
            if at >= len(samples):
                samples.append((round(at, 1), memory.resident(), self._statistics().queued))
            await anyio.sleep(_TICK)
        # during an outage records were dropped, so it is not asked whether all were confirmed
        await self._agent.flush(_LONGEST_WAIT)
        found = {"seconds": time.monotonic() - began, "cpu": time.process_time() - cpu, "samples": samples,
                 "rss_before": resident, "rss_peak": memory.peak()}  # fmt: skip
        return {**found, **self._ledger_since(before), **self._latencies()}

    async def micro(self) -> dict[str, Any]:
        """CPU seconds for one segment, recorded, encoded and offered, without what ships it."""
        costs: list[float] = []
        calibrations: list[float] = []
        for _ in range(_MICRO_ROUNDS):
            calibrations.append(calibrate())
            began = time.process_time()
            for _ in range(_MICRO_RECORDS):
                record()
            # whatever was not encoded yet
            self._statistics()
            costs.append((time.process_time() - began) / _MICRO_RECORDS)
            await self._settle()
        costs.sort()
        return {"median": percentile(costs, 0.5), "best": costs[0], "calibration": min(calibrations)}

    async def _settle(self) -> None:
        if not await self._agent.flush(_LONGEST_WAIT):
            raise RuntimeError(f"not everything was confirmed: {self._agent.statistics()}")

    def _statistics(self) -> SignalStatistics:
        return self._agent.statistics().segment

    def _ledger_since(self, before: SignalStatistics) -> dict[str, Any]:
        now = self._statistics()
        refused, dropped = (
            {reason: more for reason, count in counts.items() if (more := count - earlier.get(reason, 0))}
            for counts, earlier in ((now.refused, before.refused), (now.dropped, before.dropped))
        )
        return {"offered": now.offered - before.offered, "confirmed": now.confirmed - before.confirmed,
                "refused": refused, "dropped": dropped, "balanced": now.balanced}  # fmt: skip

    def _latencies(self) -> dict[str, Any]:
        ordered = sorted(self._watch.latencies)
        return {"p50": percentile(ordered, 0.5), "p99": percentile(ordered, 0.99), "max": ordered[-1]}


@dataclass
class _Producer:
    make: Callable[[], None]
    room: Room
    turn: int
    start: anyio.Event
    until: float = 0.0

    async def produce(self, task_status: TaskStatus[None]) -> None:
        task_status.started()
        await self.start.wait()
        while True:
            await self.room.take(self.turn)
            if time.monotonic() >= self.until:
                self.room.give(self.turn)
                return
            for _ in range(self.turn):
                self.make()


async def _obey(protocol: str, address: str) -> None:
    place = {"kafka_bootstrap_servers": (address,)} if protocol == "kafka" else {"collector": address}
    # the channel is as full as it can be, and nothing is to be refused: `stress.pressure` measures how it sheds
    config = Config(service="stress", protocol=protocol, pvm_meter_reporter_active=False, trace_shedding=False, **place)
    async with Agent(config) as agent:
        sender = Sender(agent)
        await sender.warm_up()
        orders: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
            "pump": sender.pump, "pace": sender.pace, "micro": sender.micro,
        }  # fmt: skip
        _say({"ready": True})
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            order = json.loads(line)
            _say(await orders[order.pop("do")](**order))


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def main(protocol: str, address: str, loop: str) -> None:
    """Obey until the input ends."""
    options = {"use_uvloop": True} if loop == "uvloop" else {}
    anyio.run(_obey, protocol, address, backend="trio" if loop == "trio" else "asyncio", backend_options=options)


if __name__ == "__main__":
    main(*sys.argv[1:])
