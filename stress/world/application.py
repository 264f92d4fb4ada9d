"""The application in the world: it records, it starts and stops the agent, and it is held up."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from random import Random

import anyio

from swagent import Agent, Config, local_span
from swagent.abc import Transport

from .clock import Clock
from .history import History
from .plan import Plan
from .watch import Watch

_LOGGER = logging.getLogger("world")
_CANCELLED_FLUSH = 1.0
_PROBE_EVERY = 1.7
_PROMPT = 1.2
"""Seconds within which a record is confirmed when all is well: half a second until its batch is due, and the rest for
the way and the answer."""
_QUICK = 0.5
"""Seconds that a stop takes then."""
_IDLE = 10.0
"""Seconds before that in which nothing is recorded, so that the backlog is gone."""


class Application:
    """One application, through all lives of its agent."""

    def __init__(
        self,
        plan: Plan,
        transport: type[Transport],
        names: str,
        clock: Clock,
        random: Random,
        watch: Watch,
        history: History,
        last_beat: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._transport = transport
        self._names = names
        self._clock = clock
        self._random = random
        self._watch = watch
        self._history = history
        self._last_beat = last_beat
        self.count = 0
        self._agent: Agent | None = None
        self._life: anyio.CancelScope | None = None
        self._is_cancelled = self._is_dead = False
        self._cancelled_at = math.inf
        self._watch.revive(self.count + 1)
        self._life_over = anyio.Event()
        self._is_over = False

    async def run(self) -> None:
        """Live until the plan's end, in one life of an agent after the other."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._work)
            while not self._is_over:
                await self._live()
            group.cancel_scope.cancel()

    def restart(self) -> None:
        """Stop the agent; the next one starts at once."""
        self._life_over.set()

    def cancel(self) -> None:
        """Cancel the task that has the agent; the next one starts at once."""
        self._is_cancelled, self._cancelled_at = True, min(self._cancelled_at, self._clock.now())
        if self._life is not None:
            self._life.cancel()

    def die(self) -> None:
        """End the process, as by SIGKILL. Its tasks are cancelled: what they do until they have ended is not seen. The
        next process starts then."""
        self._is_dead = True
        if self._life is not None:
            self._life.cancel()

    async def flush(self, timeout: float) -> None:
        """Flush, and see to it that it ends in time."""
        agent = self._agent
        if agent is None or self._is_dead:
            return
        began, held, upto = self._clock.now(), self._watch.held, self.count
        is_confirmed = await agent.flush(timeout)
        seconds = self._clock.now() - began - (self._watch.held - held)
        self._history.note(f"flush({timeout:.2f}): {is_confirmed} after {seconds:.6f} s")
        if seconds > timeout + 0.1:
            self._history.violate(f"flush({timeout:.2f}) took {seconds:.3f} s")
        if is_confirmed and (lost := self._watch.lost_since(began, upto)):
            self._history.violate(f"flush() says that all was confirmed, and {lost[:5]} were dropped")

    def record(self, count: int, size: int = 0) -> list[int]:
        """Record segments and log records; returns their numbers."""
        numbers: list[int] = []
        for _ in range(0 if self._is_dead else count):
            self.count += 1
            numbers.append(self.count)
            if self._random.random() < 0.2:
                _LOGGER.warning("#%d# %s", self.count, "x" * size)
            else:
                with local_span(f"#{self.count}#") as span:
                    for start in range(0, size, 1000):
                        span.tag(f"padding {start}", "x" * min(1000, size - start))
        return numbers

    async def _live(self) -> None:
        """One life of an agent."""
        config = Config(
            service="shop", instance="one", collector=self._names, protocol=self._plan.protocol, loop_block_limit=0,
            pvm_meter_reporter_active=False, log_reporter_level="WARNING", **self._plan.settings,
        )  # fmt: skip
        agent = Agent(config, transport=self._transport, clock=self._clock.now)
        self._is_cancelled = self._is_dead = False
        self._cancelled_at = math.inf
        self._watch.revive(self.count + 1)
        self._life_over = anyio.Event()
        began, held, first = math.inf, 0.0, 0
        with anyio.CancelScope() as self._life:
            async with agent:
                self._agent, first = agent, self.count
                self._watch.begin(agent)
                self._history.note("the agent has started")
                try:
                    await self._wait_and_probe()
                finally:
                    self._agent = None
                    if not self._is_dead:
                        self._watch.is_stopping = True
                        self._watch.expect_offered(agent, self.count - first)
                        began, held = self._clock.now(), self._watch.held
                        self._history.note(f"the agent stops{', cancelled' if self._is_cancelled else ''}")
        if began == math.inf or self._is_dead:
            return  # cancelled while it started, or dead
        seconds = self._clock.now() - began - (self._watch.held - held)
        budget = config.shutdown_timeout
        if self._life.cancel_called:
            # a stop may be well under way when it is cancelled, which makes it no longer
            budget = min(budget, max(self._cancelled_at - began, 0.0) + _CANCELLED_FLUSH)
        self._watch.end(agent, seconds, budget)
        if self._is_over and (seconds > _QUICK or any(each.dropped.get("shutdown") for each in agent.statistics())):
            self._history.violate(f"all is well, and the stop takes {seconds:.3f} s: {agent.statistics()}")

    async def _wait_and_probe(self) -> None:
        """Wait until the world is calm, and see whether all is well then; or until this life is to end."""
        with anyio.move_on_at(self._plan.calm_from):
            await self._life_over.wait()
            return
        await self._probe()
        self._is_over = True

    async def _work(self) -> None:
        """Record, with pauses."""
        random, plan = self._random, self._plan
        while self._clock.now() < plan.calm_from - _IDLE:
            await anyio.sleep(2 * plan.pace * random.random())
            self.record(random.randint(1, plan.most), random.choice([0, 0, 0, 300, 3000]))

    async def _probe(self) -> None:
        """All is well: each record is confirmed in time, a flush says so, and the stop is quick."""
        assert self._agent is not None
        agent = self._agent
        while self._clock.now() < self._plan.ends_at:
            numbers = self.record(self._random.randint(1, 5))
            await anyio.sleep(_PROBE_EVERY * (1 + self._random.random()))
            for number in numbers:
                if number not in self._watch.confirmed_at:
                    self._history.violate(f"all is well, and record {number} is not confirmed: {agent.statistics()}")
        period = self._plan.settings["heartbeat_period"]
        if self._clock.now() - self._last_beat() > period + _PROMPT:
            self._history.violate(f"all is well, and no collector heard anything for {period:g} s")
        self.record(3)
        if not await agent.flush(_PROMPT):
            self._history.violate(f"all is well, and a flush fails: {agent.statistics()}")
