"""One whole life of an application with an agent, and what must be true of it however it ended."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter as Counted
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import anyio

from swagent import Agent, local_span
from swagent.meters import Counter

# The time that the application waits for the agent, at each of its steps. In a life that is well none takes so long.
PATIENCE = 0.5
# The time that it waits to see a sign of the agent that may not come.
GLIMPSE = 0.1
# How often the application records before it says that nothing comes of it.
_ATTEMPTS = 3
_numbers = count(1)
_log = logging.getLogger("application")
_orders = Counter("orders")


class World(Protocol):
    """Where lives are lived: a collector, and the way to it."""

    async def prepare(self) -> None:
        """Let the collector be there, whatever became of it in the life before."""
        ...

    def agent(self) -> Agent:
        """A new agent."""
        ...

    async def wait_noted(self) -> None:
        """Wait until an agent has reported that it lives."""
        ...

    def lost(self) -> AbstractAsyncContextManager[None]:
        """A time without the collector."""
        ...

    async def check_let_go(self) -> None:
        """Whether nothing of a life is left that only this world can see."""
        ...

    def arrived(self) -> Iterable[bytes]:
        """Every segment that came to the collector."""
        ...


class Life:
    """
    :ivar recorded: the operations that the application recorded, in their order
    :ivar recovered: whether all signals were reported after the fault, or said that they are not; None: there was no
        fault before the end
    :ivar has_begun: whether the agent has
    :ivar is_over: whether the application came to its own end
    """

    def __init__(self, world: World, is_hurt: Callable[[], bool] = lambda: False) -> None:
        """:param is_hurt: says whether there was a fault, so that the application records once more after it"""
        self.agent = world.agent()
        self.number = next(_numbers)
        self.recorded: list[str] = []
        self.recovered: bool | None = None
        self.has_begun = False
        self.is_over = False
        self._world = world
        self._is_hurt = is_hurt

    async def live(self) -> None:
        """Start, report all signals, lose the collector and find it again, flush, stop with a batch on its way."""
        async with self.agent:
            self.has_begun = True
            self.record(3)
            await self.agent.flush(PATIENCE)
            if not self._says_off():
                with anyio.move_on_after(GLIMPSE):
                    await self._world.wait_noted()
            async with self._world.lost():
                self.record(2)
                await self._hint()
                if not self._says_off():
                    with anyio.move_on_after(GLIMPSE):
                        await self.agent._route.wait_lost()
            await self.agent.flush(PATIENCE)
            if self._is_hurt():
                await self._recover()
            self.record(2)
            await self._hint()
            self.record(2)
            self.is_over = True
        # a cancellation that came to the agent is noticed here at the latest
        await anyio.lowlevel.checkpoint()

    async def _hint(self) -> None:
        """Let what waits leave now, and go on."""
        await self.agent.flush(0)
        for _ in range(2):
            await anyio.lowlevel.checkpoint()

    async def _recover(self) -> None:
        # the first may still meet what the fault has left behind
        self.record(1)
        await self.agent.flush(4 * PATIENCE)
        if self._says_off():
            self.recovered = True
            return
        before = self._reported()
        # more than once: on a busy machine an answer may come too late
        for _ in range(_ATTEMPTS):
            self.record(1)
            await self.agent.flush(4 * PATIENCE)
            with anyio.move_on_after(PATIENCE):
                while not (self._reported() > before or self._says_off()):  # noqa: ASYNC110  (no other task may be asked)
                    await anyio.sleep(0.001)
            self.recovered = self._reported() > before or self._says_off()
            if self.recovered:
                return

    def _says_off(self) -> bool:
        return any(each.state != "on" and "carries no" not in each.state for each in self.agent.statistics())

    def _reported(self) -> Reported:
        """The counts that grow as long as all is well."""
        of = self.agent.statistics()
        meters = of.meter.offered if of.meter.state == "on" else math.inf
        return Reported(of.segment.confirmed, of.log.confirmed, meters)

    def record(self, number: int) -> None:
        """Segments, a log record in each, and a meter."""
        for _ in range(number):
            name = f"life {self.number} work {len(self.recorded)}."
            self.recorded.append(name)
            with local_span(name):
                _orders.increment(1)
                _log.warning("in %s", name)

    # -- what must be true --------------------------------------------------------------------------------------------

    def check_ledger(self) -> None:
        """The identity of every signal, at the end."""
        statistics = self.agent.statistics()
        assert statistics.balanced, str(statistics)
        for each in statistics:
            lost = sum(each.refused.values()) + sum(each.dropped.values())
            assert each.offered == each.confirmed + lost, f"nothing waits after the end: {each}"
        offered = statistics.segment.offered if statistics.signals else 0
        assert offered == len(self.recorded), f"{len(self.recorded)} segments were recorded: {statistics}"

    def check_arrived(self) -> None:
        """Each record that was confirmed has arrived, none twice, and what else arrived was ambiguous."""
        names = names_in(self._world.arrived())
        arrived = [name for name in names if name.startswith(f"life {self.number} ")]
        twice = [name for name, times in Counted(arrived).items() if times > 1]
        assert not twice, f"arrived twice: {twice}"
        assert set(arrived) <= set(self.recorded)
        if self.recorded:
            segments = self.agent.statistics().segment
            # a transport that fails with what is no verdict leaves open whether it sent
            most = segments.confirmed + sum(segments.dropped.get(reason, 0) for reason in ("ambiguous", "internal"))
            assert segments.confirmed <= len(arrived) <= most, f"{len(arrived)} arrived: {segments}"

    def check_went_on(self) -> None:
        """The application came to its own end, and whatever was hurt reports again, or says that it does not."""
        assert self.is_over, "the application's body went on"
        assert self.recovered is not False, f"hurt, and silent about it: {self.agent.statistics()}"


@dataclass(frozen=True)
class Reported:
    """Counts of what each signal has come to."""

    segments: float
    logs: float
    meters: float

    def __gt__(self, before: Reported) -> bool:
        return (
            self.segments > before.segments
            and self.logs > before.logs
            and (self.meters > before.meters or before.meters == math.inf)
        )


def names_in(payloads: Iterable[bytes]) -> list[str]:
    """The operations that were recorded in lives."""
    return [name.decode() for payload in payloads for name in re.findall(rb"life \d+ work \d+\.", payload)]
