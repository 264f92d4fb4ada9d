"""One seed, from its plan to its verdict."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

import anyio
import trio

from swagent import Config, acceleration
from swagent.abc import Instance, Transport
from swagent.agent import _agents as agents
from swagent.runtime.transport_choice import find_transport

from ..environments import SetupError
from .application import Application
from .clock import AsyncioClock, Clock, TrioClock, WallClock, jumping_clock
from .collector import Collector, Truth
from .disk import Device
from .faults import Faults
from .grpc_server import GrpcSession
from .history import History
from .http_server import HttpSession
from .loop import EndlessError, WorldLoop
from .network import Network
from .plan import Fault, Plan
from .sockets import connect_by, in_place_of_sockets
from .spilled import Spilled
from .watch import Watch

_READ = 0.6
_AMID = 0.05
"""Seconds behind a read within which its records are sent."""


@dataclass(frozen=True)
class Outcome:
    """What one run has come to.

    :ivar violation: empty when everything held
    :ivar seconds: of the virtual clock
    """

    plan: Plan
    violation: str
    digest: str
    lines: int
    seconds: float
    records: int


class World:
    """One run."""

    def __init__(self, plan: Plan, history: History) -> None:
        self._plan = plan
        self._history = history
        self._scope: anyio.CancelScope | None = None
        history.on_violation = self._stop

    def run(self) -> Outcome:
        """Run it on the loop that the plan names."""
        gc.collect()
        gc.disable()
        try:
            with _quiet(self._history, lambda: self._watch is not None and self._watch.is_dead):
                if self._plan.backend == "asyncio":
                    self._run_on_asyncio()
                else:
                    self._run_on_trio()
        finally:
            gc.enable()
        history = self._history
        violation = history.violations[0] if history.violations else ""
        return Outcome(self._plan, violation, history.digest, history.count, self._seconds, self._records)

    _watch: Watch | None = None
    _seconds = 0.0
    _records = 0

    def _random(self, purpose: str) -> Random:
        return Random(f"{self._plan.seed}/{purpose}")

    def _run_on_asyncio(self) -> None:
        loop = WorldLoop(self._random("loop"))
        clock = AsyncioClock(loop)
        loop.set_exception_handler(lambda _, context: self._history.violate(f"the loop hears of {context}"))
        try:
            loop.run_until_complete(self._live(clock, loop))
            if left := [task for task in asyncio.all_tasks(loop) if not task.done()]:
                self._history.violate(f"tasks are left: {left}")
        except EndlessError as error:
            self._give_up(error)
            # what is left behind has no loop any more, and nothing to say
            loop.set_exception_handler(lambda *_: None)
        finally:
            loop.close()

    def _run_on_trio(self) -> None:
        mock = jumping_clock()
        clock = TrioClock(mock)
        core: Any = trio._core._run
        core._r.seed(f"{self._plan.seed}/loop")

        class Steps(trio.abc.Instrument):
            def after_task_step(_, task: Any) -> None:  # noqa: N805
                self._on_step()

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(clock.run)
                await self._live(clock, None)
                nursery.cancel_scope.cancel()

        with patch.object(core, "_ALLOW_DETERMINISTIC_SCHEDULING", True):
            try:
                trio.run(main, clock=mock, instruments=[Steps()])
            except trio.TrioInternalError as error:
                self._give_up(error.__cause__ or error)

    def _give_up(self, error: BaseException) -> None:
        """The run never ends. Nothing of it may be in the way of the next one."""
        if not isinstance(error, EndlessError):
            raise error
        self._history.violate(f"this never ends: {error}")
        for agent in agents.copy():
            agent.after_fork_in_child()
        agents.clear()

    _on_step: Callable[[], object] = int

    async def _live(self, clock: Clock, loop: WorldLoop | None) -> None:
        plan, history = self._plan, self._history
        history.now = clock.now
        truth, wall = Truth(), WallClock(clock)
        network = Network(clock, self._random("network"), history)
        network.room = plan.room
        if loop is not None:
            connect_by(network, loop)
        device = None if plan.disk is None else Device(plan.disk, clock, self._random("disk"), history)
        spilled = None if device is None else Spilled(device, history)
        watch = Watch(clock, network, truth, history, plan.settings, spilled)
        self._watch = watch
        if loop is None:
            self._on_step = watch.step
        else:
            loop.on_turn = watch.step
        session = GrpcSession if plan.protocol == "grpc" else HttpSession
        collectors = [
            Collector(network, f"10.0.0.{number + 1}", self._random(f"collector {number}"), truth, history, session)
            for number in range(plan.collectors)
        ]
        for number, each in enumerate(collectors):
            network.hosts[each.address] = each
            network.names[f"oap-{number + 1}"] = [each.address]
        names = ",".join(f"oap-{number + 1}:11800" for number in range(plan.collectors))

        def last_beat() -> float:
            return max((beat for each in collectors for beat in each.beats[-1:]), default=-math.inf)

        transport = _find_transport(plan)
        application = Application(plan, transport, names, clock, self._random("application"), watch, history, last_beat)
        faults = Faults(network, collectors, clock, wall, self._random("faults"), history, device)
        jitter = self._random("agent")
        with ExitStack() as stack:
            stack.enter_context(wall.in_force())
            stack.enter_context(in_place_of_sockets(network))
            stack.enter_context(watch.in_force())
            if device is not None and spilled is not None:
                stack.enter_context(device.in_force(wall))
                stack.enter_context(spilled.in_force())
            stack.enter_context(patch("swagent.agent.JITTER", jitter))
            stack.enter_context(patch("swagent_transports._connection_age.JITTER", jitter))
            stack.enter_context(patch("swagent.agent.describe_instance", _describe))
            with anyio.CancelScope() as self._scope:
                async with anyio.create_task_group() as group:
                    for fault in plan.faults:
                        group.start_soon(self._suffer, fault, faults, application, watch, clock)
                    await application.run()
        watch.end_all()
        self._seconds, self._records = clock.now(), application.count

    async def _suffer(self, fault: Fault, faults: Faults, application: Application, watch: Watch, clock: Clock) -> None:
        """Have one fault."""
        await anyio.sleep_until(fault.at)
        self._history.note(f"begins: {fault}")
        before = clock.now()
        undo = faults.begin(fault)
        watch.held += clock.now() - before
        if undo is not None:
            await anyio.sleep(fault.seconds)
            undo()
            self._history.note(f"is over: {fault}")
        elif fault.kind == "burst":
            application.record(int(20_000 * fault.strength**3) + 10)
        elif fault.kind == "huge record":
            application.record(1, int(600_000 * fault.strength))
        elif fault.kind == "flush":
            await application.flush(3 * fault.strength)
        elif fault.kind == "restart":
            application.restart()
        elif fault.kind in ("death", "power loss"):
            assert faults.device is not None
            # amid a call of the disk, or of what was read, if one comes soon
            with anyio.move_on_after(fault.seconds):
                await faults.device.wait_busy(reads=fault.strength < _READ)
                if fault.strength < _READ:
                    await anyio.sleep(_AMID * fault.strength)
            watch.die(has_power=fault.kind == "death")
            application.die()
        else:
            assert fault.kind == "cancelled", fault
            application.cancel()

    def _stop(self) -> None:
        if self._scope is not None:
            self._scope.cancel()


def run_plan(plan: Plan, *, is_verbose: bool = False) -> Outcome:
    """Run a plan.

    :raises SetupError: when this process has the accelerator, which reads the machine's clock and not the world's
    """
    if acceleration.native is not None:
        raise SetupError(f"the accelerator knows no virtual clock: set {acceleration.VARIABLE}=off")
    return World(plan, History(is_verbose=is_verbose)).run()


def _find_transport(plan: Plan) -> type[Transport]:
    return find_transport(Config(protocol=plan.protocol))


def _describe(config: Config) -> Instance:
    """The instance, without what differs between processes."""
    return Instance(config.service_name, config.instance, (("language", "python"),))


class _Lines(logging.Handler):
    """The lines of every logger: those of the agent's are part of the history, and no library may say anything."""

    def __init__(self, history: History, is_dead: Callable[[], bool]) -> None:
        super().__init__(logging.INFO)
        self._history = history
        self._is_dead = is_dead

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "world" or self._is_dead():
            return
        text = record.getMessage()
        self._history.note(f"log: {record.levelname} {text}")
        if record.name != "swagent":
            self._history.violate(f"{record.name} says: {text}")
        elif any(word in text for word in ("crashed", "unexpectedly", "stray", "could not be", "from outside")):
            self._history.violate(f"a fault of ours: {text}")


@contextmanager
def _quiet(history: History, is_dead: Callable[[], bool]) -> Iterator[None]:
    root, handler = logging.getLogger(), _Lines(history, is_dead)
    before = root.handlers[:]
    root.handlers[:] = [handler]
    try:
        yield
    finally:
        root.handlers[:] = before
