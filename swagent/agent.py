"""The agent's life, top to bottom. Start reading here.

    app code --record--> record --encode--> bytes --offer--> channel --lease--> reporter --send--> transport
    (any thread, sync, never raises, never waits)            (bounded)          (awaits; asyncio or trio)

Rules
-----
1. Nothing on the left of the channel waits, and nothing on its right reaches the application.
2. One reporter reads one channel; one heartbeat opens and probes the route that all reporters share.
3. Closing the channel is the only way to say "finish"; a verdict is the only way out of it.

Phases
------
An agent goes through its phases once. What each event does in each phase, and the phase that follows:

| event                   | NEW            | RUNNING              | STOPPING             | STOPPED      | FORKED |
| ----------------------- | -------------- | -------------------- | -------------------- | ------------ | ------------ |
| `async with` begins     | build: RUNNING | error                | error                | error        | error |
| a setting is wrong      | ConfigError    |                      |                      |              | |
| the block is left       |                | stop: STOPPED        |                      |              | nothing |
| the block is cancelled  |                | stop in 1 s: STOPPED | 1 s left: STOPPED    |              | nothing |
| the host's task is gone |                | stop in 1 s: STOPPED | goes on              | nothing      | nothing |
| a task of ours crashes  |                | starts again         | starts again at once |              | |
| a record is finished    | not recorded   | offered              | refused              | not recorded | not recorded |
| `flush()`               | error          | flushes              | waits for the stop   | True         | True |
| `tracer`, `pipelines`   | error          | theirs               | theirs               | theirs       | theirs |
| `statistics()`          | empty          | of now               | of now               | the last     | empty |
| in the child of a fork  | NEW            | FORKED               | FORKED               | FORKED       | FORKED |

`error` is AgentStateError. An empty field: it cannot happen.

Start: check the configuration and build everything (a bad setting raises here and never later); start heartbeat,
reporters and the report of meters under their supervisors (`runtime.agent_tasks`); let records in. It does not wait
for the collector.

Stop: end the recording, with a last report of the meters; close the intake; cut the backoff; let the reporters flush
without retries until the deadline; if somebody cancelled them, flush in the host's own task instead; cancel what is
left; close the transports hard; count what could not be delivered; say the last word. What each step may take stands
in `stop_budgets`.

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
from collections.abc import Callable
from types import TracebackType

import anyio
from anyio import CancelScope
from typing_extensions import Self

from . import stop_budgets
from .abc import Transport, addresses_of
from .agent_log import RateLimitedLog, log, say
from .backend import must_propagate, native_cancellation, task_counter, task_watch
from .config import Config
from .errors import AgentStateError
from .ledger import Statistics
from .pipeline.encoder import Encoder
from .pipeline.failover import Failover
from .pipeline.pipelines import Pipelines
from .pipeline.route import Route
from .record.suppression import suppress_instrumentation
from .record.trace.tracer import Tracer
from .runtime.agent_tasks import AgentTasks
from .runtime.heartbeat import Heartbeat
from .runtime.instance import describe_instance
from .runtime.recording import Recording
from .runtime.transport_choice import find_transport, warn_of_plaintext
from .runtime.transport_runner import check_runtime


class Phase(enum.Enum):
    """Where an agent is in its life; it goes through it once."""

    NEW = "new"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FORKED = "forked"
    """In a forked child: what it was in the parent, it is no more."""


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
        self._limited = RateLimitedLog(clock)
        self._pipelines: Pipelines | None = None

    # -- life ---------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._phase is not Phase.NEW:
            raise AgentStateError(f"this agent is {self._phase.value} already; make another one")
        self._build()
        # by hand, and in no generator: the loop would close one that nobody leaves, in a task of its own
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._live, native_cancellation(), task_watch())
        try:
            await self._tasks.begun.wait()
            self._recording.begin()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if self._phase is Phase.FORKED:
            return None
        # the host's own error is kept from the task group, out of which it would come wrapped in an exception group
        ending = error if isinstance(error, anyio.get_cancelled_exc_class()) else None
        try:
            if ending is None:
                await self._stop_in_time()
            else:
                with CancelScope(shield=True):
                    await self._stop(stop_budgets.CANCELLED_FLUSH)
        except BaseException as failure:  # noqa: BLE001, RUF100  (raised again below)
            ending = failure
        is_over = await self._leave(ending) and ending is not None
        if ending is not None and ending is not error and not is_over:
            raise ending
        return is_over

    async def _leave(self, ending: BaseException | None) -> bool:
        """End the life of the agent's tasks with the host's.

        :param ending: what ends the host, unless it is an error of its own
        :returns: whether that ends here
        """
        try:
            self._tasks.leave()
            kind = None if ending is None else type(ending)
            return bool(await self._group.__aexit__(kind, ending, None if ending is None else ending.__traceback__))
        finally:
            self._end()

    async def _live(self, is_cancelled: Callable[[], bool], is_gone: Callable[[], bool]) -> None:
        """The life of the agent's tasks, around the host's body.

        :param is_cancelled: whether somebody called `cancel()` on the host's task
        :param is_gone: whether the host's task has ended
        """
        await self._tasks.live(lambda: is_cancelled() or is_gone())
        if is_gone() and self._phase is Phase.RUNNING:
            # nobody is left to leave it, and a loop that comes to its end has swept up all tasks
            with CancelScope(shield=True):
                await self._stop(stop_budgets.CANCELLED_FLUSH)
            self._end()

    def _build(self) -> None:
        config = self.config = (self._given_config or Config.from_env()).for_this_process()
        transport_class = self._given_transport or find_transport(config)
        check_runtime(config.protocol, transport_class.runtimes)
        log.setLevel(config.log_level.upper())
        addresses = addresses_of(transport_class, config)
        warn_of_plaintext(addresses)
        self._transports = [transport_class(config, address) for address in addresses]
        self._route = Route(
            self._transports, Failover(len(self._transports), random.random), self._clock, self._limited
        )
        heartbeat = Heartbeat(self._route, describe_instance(config), config.heartbeat_period, config.properties_factor)
        self._pipelines = Pipelines(config, transport_class, self._route, self._clock, self._limited)
        self._route.watch(lambda: self.statistics().losses)
        self._encoder = Encoder(transport_class.codec, config.service_name, config.instance)
        self._recording = Recording(config, self._pipelines, self._encoder, self._limited, task_counter())
        meters, runtimes = self._recording.meter_report, transport_class.runtimes
        self._tasks = AgentTasks(heartbeat, meters, self._pipelines, self._route, runtimes, self._limited)
        self._phase = Phase.RUNNING
        _agents.add(self)

    async def _stop_in_time(self) -> None:
        try:
            await self._stop(self.config.shutdown_timeout)
        except anyio.get_cancelled_exc_class():
            with CancelScope(shield=True):
                await self._stop(stop_budgets.CANCELLED_FLUSH)
            raise

    async def _stop(self, grace: float) -> None:
        """The stop order.

        :param grace: seconds for the last flush; closing hard may take half a second more
        """
        self._phase = Phase.STOPPING
        at_work = suppress_instrumentation.set(True)
        try:
            self._recording.end()
            self.pipelines.close()
            self._route.drain()
            self._tasks.skip_backoff()
            with anyio.move_on_after(grace):
                await self._tasks.ended.wait()
                if self.pipelines.has_queued():
                    await self._tasks.work()
            self._tasks.cut()
            # what does not end then is given a moment to be let go of
            with anyio.move_on_after(stop_budgets.CLOSE - stop_budgets.CALL_END, shield=True):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._tasks.ended.wait)
                    for transport in self._transports:
                        group.start_soon(self._close_hard, transport)
        finally:
            suppress_instrumentation.reset(at_work)

    async def _close_hard(self, transport: Transport) -> None:
        runner = self._tasks.runner
        try:
            if runner is not None:
                await runner(transport.aclose)
        except BaseException as error:  # noqa: BLE001, RUF100  (a transport that breaks its contract must not stop the stop)
            if must_propagate(error):
                raise
            self._limited.warn("internal", "%s could not be closed: %r", transport, error)

    def _end(self) -> None:
        """Count what could not be delivered, and say the last word."""
        self._recording.end()
        self.pipelines.end()
        self._phase = Phase.STOPPED
        statistics = self.statistics()
        level = logging.INFO if statistics.complete else logging.WARNING
        say(level, "swagent stopped for %s: %s", self.config.service, statistics)

    # -- what it is asked ---------------------------------------------------------------------------------------------

    @property
    def tracer(self) -> Tracer:
        """What new traces go to, for instrumentation that is given an agent.

        :raises AgentStateError: before the start
        """
        if self._phase is Phase.NEW:
            raise AgentStateError("the agent was not started yet: it has no tracer")
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
            return await self.pipelines.flush()
        return False

    def statistics(self) -> Statistics:
        """What became of every record so far. Any thread, in every phase; empty before the start."""
        return self._pipelines.statistics() if self._pipelines is not None else Statistics({})

    @property
    def pipelines(self) -> Pipelines:
        """The pipelines of its signals.

        :raises AgentStateError: before the start
        """
        if self._pipelines is None:
            raise AgentStateError("the agent was not started yet: it has no pipelines")
        return self._pipelines

    def after_fork_in_child(self) -> None:
        """In a forked child: record nothing, and leave what waits to the parent."""
        self._phase = Phase.FORKED
        self._recording.after_fork_in_child()
        self.pipelines.after_fork_in_child()
        self._route.after_fork_in_child()

    def __repr__(self) -> str:
        return f"<Agent {self._phase.value} {self._pipelines or ''}>"


# Forking copies the agent's memory but not its tasks: the child keeps still, and leaves what waits to the parent.
_agents: weakref.WeakSet[Agent] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for agent in list(_agents):
        agent.after_fork_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
