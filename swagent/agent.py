"""The agent's life, top to bottom. Start reading here.

    app code --record--> record --encode--> bytes --offer--> channel --lease--> reporter --send--> transport
    (any thread, sync, never raises, never waits)            (bounded)          (awaits; asyncio or trio)

Rules
-----
1. Nothing on the left of the channel waits, and nothing on its right reaches the application.
2. One reporter reads one channel; one heartbeat opens and probes the route that all reporters share.
3. Closing the channel is the only way to say "finish"; a verdict is the only way out of it.

Start: check the configuration and build everything (a bad setting raises here and never later); open the life scope;
start heartbeat, reporters and the report of meters under their supervisors; let records in. It does not wait for the
collector.

Stop: end the recording, with a last report of the meters; close the intake; cut the backoff; let the reporters flush
without retries until the deadline; if somebody cancelled them, flush in the host's own task instead; cancel what is
left; close the transports hard; count what could not be delivered; say the last word.

The life scope is shielded from birth and only the host's end ends it. A shield set up in a `finally` would come too
late: a cancellation from outside reaches the children and the host's body in the same moment.
"""

from __future__ import annotations

import enum
import logging
import os
import random
import time
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType

import anyio
from anyio import CancelScope
from typing_extensions import Self

from ._backend import Runner, cancelled_by_scope, check_runtime, loop_door, task_counter, transport_home
from ._heartbeat import Heartbeat
from ._instance import describe_instance
from ._log import LimitedLog, log
from ._pipelines import Pipelines
from ._recording import Recording
from ._supervisor import supervise
from ._transports import find_transport
from .abc import Transport, addresses_of
from .config import Config
from .errors import AgentStateError
from .ledger import Statistics
from .pipeline.encoder import Encoder
from .pipeline.failover import Failover
from .pipeline.route import Route
from .record.log_guard import agent_at_work
from .record.tracer import Tracer
from .signals import Signal

# What stopping may take beyond its deadline, to close what a peer will not let go of.
CLOSE_GRACE = 0.5
# How long the last flush may hold up a cancellation that comes from outside.
CANCELLED_GRACE = 1.0


class Phase(enum.Enum):
    """Where an agent is in its life; it goes through it once."""

    NEW = "new"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Agent:
    """Records and reports for as long as its `async with` block runs, on asyncio, uvloop or trio.

    Entering raises ConfigError for a setting that cannot be used, and AgentStateError when this agent was entered
    before: an agent lives once, make another one. Leaving flushes within `shutdown_timeout`, whatever the collector
    does. When the block is cancelled from outside, leaving flushes for at most a second, and the cancellation goes on.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        transport: type[Transport] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param config: `Config.from_env()` when left out; it is read at the start, so a wrong setting raises there
        :param transport: the transport's class; when left out, the one installed under the configured protocol's name
        :param clock: monotonic seconds, for ages and delays; tests hand in another
        """
        self._given_config = config
        self._given_transport = transport
        self._clock = clock
        self._phase = Phase.NEW
        self._limited = LimitedLog(clock)
        self._pipelines: Pipelines | None = None

    # -- life ---------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._phase is not Phase.NEW:
            raise AgentStateError(f"this agent is {self._phase.value} already; make another one")
        self._host = self._around_host()
        return await self._host.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._host.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _around_host(self) -> AsyncGenerator[Self]:
        self._build()
        host_error: BaseException | None = None
        async with self._living():
            self._recording.begin()
            try:
                yield self
            except anyio.get_cancelled_exc_class():
                with CancelScope(shield=True):
                    await self._stop(CANCELLED_GRACE)
                raise
            except BaseException as error:  # noqa: BLE001, RUF100  (the host's own; raised again below)
                # raised inside the task group it would come out wrapped in an exception group
                host_error = error
            await self._stop_in_time()
        if host_error is not None:
            raise host_error

    @asynccontextmanager
    async def _living(self) -> AsyncGenerator[None]:
        """The life scope around the host's body: begun when the body begins, ended with it, however that ends."""
        try:
            async with anyio.create_task_group() as outer:
                outer.start_soon(self._live)
                try:
                    await self._begun.wait()
                    yield
                finally:
                    self._life.cancel()
        finally:
            self._end()

    def _build(self) -> None:
        config = self.config = self._given_config or Config.from_env()
        transport_class = self._given_transport or find_transport(config)
        check_runtime(config.protocol, transport_class.runtimes)
        log.setLevel(config.log_level.upper())
        self._runtimes = transport_class.runtimes
        self._transports = [transport_class(config, address) for address in addresses_of(transport_class, config)]
        self._route = Route(
            self._transports, Failover(len(self._transports), random.random), self._clock, self._limited
        )
        self._heartbeat = Heartbeat(
            self._route, describe_instance(config), config.heartbeat_period, config.properties_factor
        )
        self._pipelines = Pipelines(config, transport_class, self._route, self._clock, self._limited)
        self._encoder = Encoder(transport_class.codec, config.service_name, config.instance)
        self._recording = Recording(config, self._pipelines, self._encoder, self._limited, task_counter())
        self._life = CancelScope(shield=True)
        self._work_scope = CancelScope()
        self._begun = anyio.Event()
        self._work_ended = anyio.Event()
        self._phase = Phase.RUNNING
        _agents.add(self)

    async def _live(self) -> None:
        """Everything that runs beside the host, in one shielded scope."""
        agent_at_work.set(True)
        with self._life:
            try:
                async with transport_home(self._runtimes) as runner:
                    self._attach(runner)
                    self._begun.set()
                    with self._work_scope:
                        await self._work()
                    self._work_ended.set()
                    await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                if cancelled_by_scope():
                    raise
                # A sweep over all tasks of the loop, which only asyncio has. What is left is done by the host's task,
                # see _stop. Let out, the cancellation would count as one of the task group, and end the host.
            finally:
                self._work_ended.set()

    def _attach(self, runner: Runner) -> None:
        self._runner = runner
        self._route.attach(runner)
        self._roads.attach(loop_door())

    async def _work(self) -> None:
        """Heartbeat, meters and reporters, until the channels are closed and empty."""
        roads, limited = self._roads, self._limited
        async with anyio.create_task_group() as group:
            group.start_soon(supervise, self._heartbeat.run, "heartbeat", limited, self._switch_off_all)
            if roads.is_on(Signal.METER):
                switch_off = partial(roads.switch_off, Signal.METER)
                group.start_soon(supervise, self._recording.meter_report.run, "report of meters", limited, switch_off)
            async with anyio.create_task_group() as reporters:
                for signal, reporter in roads:
                    name, switch_off = f"reporter of {signal.value}s", partial(roads.switch_off, signal)
                    reporters.start_soon(supervise, reporter.run, name, limited, switch_off)
            group.cancel_scope.cancel()

    async def _stop_in_time(self) -> None:
        try:
            await self._stop(self.config.shutdown_timeout)
        except anyio.get_cancelled_exc_class():
            with CancelScope(shield=True):
                await self._stop(CANCELLED_GRACE)
            raise

    async def _stop(self, grace: float) -> None:
        """The stop order.

        :param grace: seconds for the last flush; closing hard may take half a second more
        """
        self._phase = Phase.STOPPING
        at_work = agent_at_work.set(True)
        try:
            self._recording.end()
            self._roads.close()
            self._route.drain()
            with anyio.move_on_after(grace):
                await self._work_ended.wait()
                if self._roads.has_queued():
                    await self._work()
            self._work_scope.cancel()
            with anyio.move_on_after(CLOSE_GRACE, shield=True):
                await self._work_ended.wait()
                async with anyio.create_task_group() as group:
                    for transport in self._transports:
                        group.start_soon(self._close_hard, transport)
        finally:
            agent_at_work.reset(at_work)

    async def _close_hard(self, transport: Transport) -> None:
        try:
            await self._runner(transport.aclose)
        except Exception as error:  # noqa: BLE001, RUF100  (a transport that breaks its contract must not stop the stop)
            self._limited.warn("internal", "%s could not be closed: %r", transport, error)

    def _end(self) -> None:
        """Count what could not be delivered, and say the last word."""
        self._recording.end()
        self._roads.end()
        self._phase = Phase.STOPPED
        statistics = self.statistics()
        level = logging.INFO if statistics.complete else logging.WARNING
        log.log(level, "swagent stopped for %s: %s", self.config.service, statistics)

    # -- what it is asked ---------------------------------------------------------------------------------------------

    @property
    def tracer(self) -> Tracer:
        """What new traces go to, for instrumentation that is given an agent."""
        return self._recording.tracer

    async def flush(self, timeout: float = 2.0) -> bool:
        """Send what is waiting now, and wait for its verdicts. The agent keeps running.

        :param timeout: seconds; the timeout wins over finishing
        :returns: True when everything accepted before this call has been confirmed
        :raises AgentStateError: before the agent was started. After it stopped, flushing does nothing.
        """
        if self._phase is Phase.NEW:
            raise AgentStateError("flush() before the agent was started")
        with anyio.move_on_after(timeout):
            return await self._roads.flush()
        return False

    def statistics(self) -> Statistics:
        """What became of every record so far. Any thread, in every phase; empty before the start."""
        return self._pipelines.statistics() if self._pipelines is not None else Statistics({})

    @property
    def _roads(self) -> Pipelines:
        if self._pipelines is None:
            raise AgentStateError("the agent was not started")
        return self._pipelines

    def _switch_off_all(self) -> None:
        for signal, _ in self._roads:
            self._roads.switch_off(signal)
        # without the heartbeat no collector is found any more
        self._route.give_up()

    def abandon_to_fork(self) -> None:
        """In a forked child: record nothing, and leave what waits to the parent."""
        self._recording.abandon_to_fork()
        self._roads.abandon_to_fork()

    def __repr__(self) -> str:
        return f"<Agent {self._phase.value} {self._pipelines or ''}>"


# Forking copies the agent's memory but not its tasks: the child keeps still, and leaves what waits to the parent.
_agents: weakref.WeakSet[Agent] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for agent in list(_agents):
        agent.abandon_to_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
