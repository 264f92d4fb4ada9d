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
An agent goes through its phases once. The table has the effect of each event in each phase, and the phase that follows:

| event                   | NEW            | RUNNING              | STOPPING             | STOPPED      | FORKED |
| ----------------------- | -------------- | -------------------- | -------------------- | ------------ | ------------ |
| `async with` begins     | build: RUNNING | error                | error                | error        | error |
| `start()`               | build: RUNNING | nothing              | error                | error        | error |
| a setting is wrong      | ConfigError    |                      |                      |              | |
| the block is left       |                | stop: STOPPED        | waits for the stop   | nothing      | nothing |
| `stop()`                | nothing        | stop: STOPPED        | waits for the stop   | nothing      | nothing |
| `stop()`, other loop    | nothing        | error                | error                | nothing      | nothing |
| `stop()`, loop closed   | nothing        | count: STOPPED       | count: STOPPED       | nothing      | nothing |
| the stop is cancelled   |                | stop in 1 s: STOPPED | 1 s left: STOPPED    |              | nothing |
| no task is left to stop |                | stop in 1 s: STOPPED | goes on              | nothing      | nothing |
| a task of ours crashes  |                | starts again         | starts again at once |              | |
| a record is finished    | not recorded   | offered              | refused              | not recorded | not recorded |
| `flush()`               | error          | flushes              | waits for the stop   | True         | True |
| `tracer`, `pipelines`   | error          | theirs               | theirs               | theirs       | theirs |
| `statistics()`          | empty          | of now               | of now               | the last     | empty |
| in the child of a fork  | NEW            | FORKED               | FORKED               | FORKED       | FORKED |

`error` is AgentStateError. An empty field: it cannot happen. No task is left to stop: the loop comes to its end, and
the task that entered the block is gone, or the agent was started by `start()`.

Start: check the configuration and build everything (a bad setting raises here and never later); start heartbeat,
reporters and the report of meters under their supervisors (`runtime.agent_tasks`); let records in. It does not wait
for the collector.

Stop: end the recording, with a last report of the meters; close the intake; cut the backoff; let the reporters flush
without retries until the deadline, the event of the end behind all others, since it has their ledger; if they were
cancelled from outside, flush in the stopping task instead; cancel what is left; close the transports hard; count what
could not be delivered; write the last line of the log. `stop_budgets` has the time of each step.

The agent's tasks live in a task of the agent's own (`backend.own_task`), in no group of the host's: so any task of the
loop may stop it, be it in a hook or in another `run_until_complete`. Their scope is shielded from birth: a shield set
up in a `finally` would come too late.
"""

from __future__ import annotations

import enum
import logging
import time
from collections.abc import Callable
from functools import partial
from random import SystemRandom
from types import TracebackType

import anyio
from anyio import CancelScope
from typing_extensions import Self

from . import stop_budgets
from .abc import Transport, addresses_of
from .agent_log import RateLimitedLog, log, say
from .backend import call_beside, must_propagate, native_cancellation, own_task, task_counter, task_watch
from .config import Config
from .errors import AgentStateError
from .forks import at_fork
from .ledger import Statistics
from .pipeline.encoder import Encoder
from .pipeline.failover import Failover
from .pipeline.pipelines import Pipelines
from .pipeline.route import Route
from .profile.blocked_loop import Block
from .profile.request_clock import Steps
from .record.suppression import suppress_instrumentation
from .record.trace.tracer import Tracer
from .runtime.agent_tasks import AgentTasks
from .runtime.configuration_sync import configuration_sync
from .runtime.first_record import forget
from .runtime.heartbeat import Heartbeat
from .runtime.instance import describe_instance
from .runtime.profile_tasks import profile_tasks
from .runtime.recording import Recording
from .runtime.segment_watch import SegmentWatch
from .runtime.start_calls import note_start
from .runtime.transport_choice import find_transport, warn_of_plaintext
from .runtime.transport_runner import check_runtime

# neither the application's `random.seed()` nor a fork makes the agents of a fleet draw the same
JITTER = SystemRandom()


class Phase(enum.Enum):
    """Where an agent is in its life; it goes through it once."""

    NEW = "new"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FORKED = "forked"
    """In a forked child: what it was in the parent, it is no more."""


class Agent:
    """Records and reports for as long as its `async with` block runs, or from `start()` to `stop()`, on asyncio, uvloop
    or trio.

    Entering raises ConfigError for a setting that cannot be used, and AgentStateError when this agent was entered
    before: an agent lives once, make another one. Leaving flushes within `shutdown_timeout`, whatever the collector
    does. When the block is cancelled from outside, leaving flushes for at most one second of that, and the cancellation
    goes on.
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
        await self._begin(native_cancellation(), task_watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._leave(is_cancelled=isinstance(error, anyio.get_cancelled_exc_class()))

    async def start(self) -> Self:
        """Start it, for hosts that have a hook for the start and another one for the end: each may run in any task of
        the same loop. Where there is a block to live in, `async with` is better: its end cannot be forgotten.

        Starting what runs does nothing.

        :raises ConfigError: when a setting cannot be used
        :raises AgentStateError: when it has stopped, or is stopped meanwhile
        """
        if self._phase is Phase.RUNNING:
            await self._tasks.begun.wait()
        elif self._phase is not Phase.NEW:
            raise AgentStateError(f"this agent is {self._phase.value} already; make another one")
        else:
            # the task that starts it may be gone soon: no task is its host
            await self._begin(_always, _always)
        self._check_not_stopped()
        return self

    async def stop(self) -> Statistics:
        """Flush and stop, within `shutdown_timeout`, in any task of the loop that it was started on. Stopping what does
        not run does nothing. When its loop has been closed, nothing more can be sent, and all that waits is counted as
        dropped.

        :returns: the ledger
        :raises AgentStateError: on another loop than that of the start
        """
        await self._leave(is_cancelled=False)
        return self.statistics()

    async def _begin(self, is_cancelled: Callable[[], bool], is_gone: Callable[[], bool]) -> None:
        """Start.

        :param is_cancelled: whether `cancel()` was called on the host's task
        :param is_gone: whether the host's task has ended
        """
        self._build()
        self._own = own_task(partial(self._live, is_cancelled, is_gone), self._end_alone)
        _agents.append(self)
        try:
            await self._tasks.begun.wait()
            self._check_not_stopped()
            self._recording.begin()
            # it is here: no record has to call for it
            forget()
            note_start()
        except BaseException as error:
            await self._leave(is_cancelled=isinstance(error, anyio.get_cancelled_exc_class()))
            raise

    def _check_not_stopped(self) -> None:
        if self._phase is not Phase.RUNNING:
            raise AgentStateError("this agent was stopped while it started")

    async def _leave(self, *, is_cancelled: bool) -> None:
        """Stop, in whatever task.

        :param is_cancelled: whether the host is
        """
        if self._phase not in (Phase.RUNNING, Phase.STOPPING):
            return
        if not self._own.is_here():
            self._leave_elsewhere()
        elif self._phase is Phase.STOPPING:
            await self._stopped.wait()
        else:
            try:
                await self._stop_in_time(is_cancelled)
            finally:
                await self._end_all()

    def _leave_elsewhere(self) -> None:
        """Count what is left on a loop that was closed."""
        if not self._own.is_lost():
            raise AgentStateError("this agent lives on another event loop: stop it there")
        self._recording.end()
        self._recording.report_end()
        self.pipelines.end_without_loop()
        self._end()

    async def _end_all(self) -> None:
        """End the agent's tasks, and wait for that."""
        try:
            self._tasks.leave()
            await self._own.join()
        finally:
            self._end()

    async def _live(self, is_cancelled: Callable[[], bool], is_gone: Callable[[], bool]) -> None:
        """The life of the agent's tasks, in a task of their own. As `_begin`."""
        await self._tasks.live(lambda: is_cancelled() or is_gone())
        if is_gone():
            # a loop that comes to its end has swept up all tasks
            await self._end_alone()

    async def _end_alone(self) -> None:
        """Stop where no task of the host's is left to do it."""
        if self._phase is not Phase.RUNNING:
            return
        try:
            await self._stop_shielded(anyio.current_time() + self.config.shutdown_timeout)
        finally:
            self._tasks.leave()
            self._end()

    def _build(self) -> None:
        config = self.config = (self._given_config or Config.from_env()).for_this_process()
        transport_class = self._given_transport or find_transport(config)
        check_runtime(config.protocol, transport_class.runtimes)
        log.setLevel(config.log_level.upper())
        config.warn_of_default_name()
        addresses = addresses_of(transport_class, config)
        warn_of_plaintext(addresses)
        self._transports = [transport_class(config, address) for address in addresses]
        self._route = Route(
            self._transports, Failover(len(self._transports), JITTER.random), self._clock, self._limited
        )
        instance = describe_instance(config)
        heartbeat = Heartbeat(self._route, instance, config.heartbeat_period, config.properties_factor)
        self._pipelines = Pipelines(config, transport_class, self._route, self._clock, self._limited)
        self._route.watch(lambda: self.statistics().losses)
        self._encoder = Encoder(transport_class.codec, config.service_name, config.instance)
        self._recording = Recording(config, self._pipelines, self._encoder, self._limited, task_counter())
        meters, runtimes = self._recording.meter_report, transport_class.runtimes
        watch = SegmentWatch(self._recording.tracer)
        tasks = profile_tasks(config, transport_class, self._pipelines, self._route, self._recording.profiler, instance)
        sync = configuration_sync(config, transport_class, self._route, self._recording.overrides, instance)
        self._tasks = AgentTasks(
            heartbeat, meters, watch, tasks, sync, self._pipelines, self._route, runtimes, self._limited,
            self._recording.report_end,
        )  # fmt: skip
        self._stopped = anyio.Event()
        self._phase = Phase.RUNNING

    async def _stop_in_time(self, is_cancelled: bool) -> None:
        ends = anyio.current_time() + self.config.shutdown_timeout
        try:
            if not is_cancelled:
                await self._stop(self.config.shutdown_timeout)
                return
        except anyio.get_cancelled_exc_class():
            await self._stop_shielded(ends)
            raise
        await self._stop_shielded(ends)

    async def _stop_shielded(self, ends: float) -> None:
        """Stop where the host is cancelled, or gone.

        :param ends: when the last flush would have ended without that, by the loop's clock
        """
        left = max(0.0, ends - anyio.current_time())
        with CancelScope(shield=True):
            await self._stop(min(stop_budgets.CANCELLED_FLUSH, left))

    async def _stop(self, grace: float) -> None:
        """The stop order.

        :param grace: seconds for the last flush; closing hard may take half a second more
        """
        self._phase = Phase.STOPPING
        at_work = suppress_instrumentation.set(True)
        try:
            self._recording.end()
            self.pipelines.close_for_last_event()
            self._route.drain()
            self._tasks.finish(grace * (1 - stop_budgets.LAST_EVENT))
            with anyio.move_on_after(grace):
                await self._tasks.ended.wait()
                if self.pipelines.has_queued() or not self.pipelines.are_closed:
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
        """Count what could not be delivered, and say the last word. Once."""
        if self._phase is Phase.STOPPED:
            return
        self._recording.end()
        self._recording.report_end()
        self.pipelines.end()
        self._phase = Phase.STOPPED
        if self in _agents:  # not while it pauses
            _agents.remove(self)
        self._stopped.set()
        statistics = self.statistics()
        level = logging.INFO if statistics.complete else logging.WARNING
        say(level, "swagent stopped for %s: %s", self.config.service, statistics)

    # -- what it is asked ---------------------------------------------------------------------------------------------

    @property
    def tracer(self) -> Tracer:
        """The tracer that new traces go to, for instrumentation that is given an agent.

        :raises AgentStateError: before the start
        """
        if self._phase is Phase.NEW:
            raise AgentStateError("the agent was not started yet: it has no tracer")
        return self._recording.tracer

    async def flush(self, timeout: float = 2.0) -> bool:
        """Send what is waiting now, and wait for its verdicts, on any loop. The agent keeps running.

        :param timeout: seconds; the timeout wins over finishing
        :returns: True when everything accepted before this call has been confirmed
        :raises AgentStateError: before the agent was started. After it stopped, flushing does nothing.
        """
        if self._phase is Phase.NEW:
            raise AgentStateError("flush() before the agent was started")
        with anyio.move_on_after(timeout):
            if self._own.is_here():
                return await self.pipelines.flush()
            return self._phase in (Phase.STOPPED, Phase.FORKED) or await self._flush_there(timeout)
        return False

    async def _flush_there(self, timeout: float) -> bool:
        """From another loop than the agent's."""

        async def flush() -> bool:
            with anyio.move_on_after(timeout):
                return await self.pipelines.flush()
            return False

        try:
            return await call_beside(self._own, flush)
        except RuntimeError:  # that loop has ended, or is ending
            return False

    @property
    def is_running(self) -> bool:
        """Whether it was started, does not stop yet, and has a loop to report from."""
        return self._phase is Phase.RUNNING and not self._own.is_lost()

    def watch_loop(self) -> None:
        """Watch the running event loop, too, for whether it is held up: it is the application's, and not the one of the
        start. A second call does nothing, and so does one before the start."""
        if self._phase is Phase.RUNNING:
            self._recording.watch_loop()

    def steps_here(self) -> Steps | None:
        """The steps of the tasks of the running event loop, which are reported as long as the agent runs: for the split
        of requests' times. None: it does not run.

        :raises Exception: the loop cannot be seen into
        """
        return self._recording.steps_here() if self._phase is Phase.RUNNING else None

    def pause(self) -> None:
        """Run on, and record nothing that does not hold this very agent: nothing else finds it, as if none ran. For one
        that is kept from one test to the next. A second call does nothing, and so does one before the start."""
        if self in _agents:
            _agents.remove(self)
            self._recording.pause()

    def resume(self) -> None:
        """End a pause: it is the agent of this process again. Without one this does nothing."""
        if self._phase is Phase.RUNNING and self not in _agents:
            _agents.append(self)
            self._recording.resume()

    def follow_blocks(self, call: Callable[[Block], object] | None) -> None:
        """Have a function called with each time for which a watched loop was held, in a thread of the agent's. It must
        not raise.

        :param call: None: call nothing any more
        """
        self._recording.on_block = call

    def wait_for_blocks(self, timeout: float = 1.0) -> None:
        """Wait until the holds of loops that are over have been reported. Blocks the thread, so call it outside of any
        loop, or in one that holds nothing.

        :param timeout: seconds, for each loop
        """
        self._recording.wait_for_blocks(timeout)

    def statistics(self) -> Statistics:
        """The fate of each record so far: its ledger. Any thread, in every phase; empty before the start."""
        if self._pipelines is None:
            return Statistics({})
        return self._pipelines.statistics().with_incomplete(self._recording.tracer.incomplete)

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


def _always() -> bool:
    return True


# Those that were started and have not stopped, the last one last.
_agents: list[Agent] = []


def running() -> Agent | None:
    """The agent that records in this process. Of several, which the application wanted, the one started last."""
    return next((agent for agent in reversed(_agents) if agent.is_running), None)


def _after_fork_in_child() -> None:
    """Forking copies the agent's memory but not its tasks: the child keeps still, and leaves what waits to the
    parent."""
    agents = _agents.copy()
    _agents.clear()
    for agent in agents:
        agent.after_fork_in_child()


at_fork(after_in_child=_after_fork_in_child)
