"""A spill of one channel of segments, with a disk in memory and a collector that is driven by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio

from pipeline.channels import BOUNDS, Clock
from pipeline.spill.disks import MemoryDisk, at_once
from swagent.agent_log import RateLimitedLog
from swagent.backend import loop_notifier
from swagent.pipeline.spill.channel import SpillingChannel
from swagent.pipeline.spill.mover import Mover
from swagent.pipeline.spill.spill import Spill
from swagent.signals import Bounds, Signal

WALL = 1.75e9


class Process:
    """One life of an agent, as far as its segments are spilled."""

    def __init__(self, disk: MemoryDisk | None = None, clock: Clock | None = None, bounds: Bounds = BOUNDS) -> None:
        self.disk = disk or MemoryDisk()
        self.clock = clock or Clock()
        self.spill = Spill(
            self.disk, "protobuf", RateLimitedLog(self.clock), cast("Any", at_once), lambda: WALL + self.clock.now
        )
        self.channel: SpillingChannel = self.spill.make_channel(Signal.SEGMENT, bounds, self.clock)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its task runs within the block, and has found nothing more to do at its beginning."""
        async with anyio.create_task_group() as group:
            self.channel.attach(loop_notifier())
            group.start_soon(self.spill.run)
            await settle()
            yield
            group.cancel_scope.cancel()

    def offer(self, *numbers: int) -> list[int]:
        """Offer records; returns those that were taken."""
        return [number for number in numbers if self.channel.offer(payload(number))]

    async def taken(self, *, confirmed: bool = True) -> AsyncIterator[int]:
        """What the collector gets, batch by batch, as long as there is something."""
        while True:
            await self.step()
            lease = self.channel.lease(self.channel.bounds.batch_items, self.channel.bounds.batch_bytes)
            if not lease.records:
                return
            for each in lease.records:
                yield number(each)
            if confirmed:
                lease.confirm()

    async def step(self) -> None:
        """Let the task do what there is to do."""
        self.channel.moves.ring()
        await settle()

    @property
    def movers(self) -> list[Mover]:
        return [*self.spill._movers.values()]

    @property
    def balanced(self) -> bool:
        return self.channel.statistics().balanced


def payload(number: int) -> bytes:
    """A record of 10 bytes."""
    return b"%010d" % number


def number(record: bytes) -> int:
    return int(record)


async def settle() -> None:
    """Let the other tasks run until they wait."""
    await anyio.wait_all_tasks_blocked()


@asynccontextmanager
async def spilled(count: int) -> AsyncIterator[Process]:
    """A process that runs within the block, and of whose records those that found no room are on disk."""
    process = Process()
    async with process.running():
        process.offer(*range(count))
        await settle()
        yield process
