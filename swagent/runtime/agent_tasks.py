"""The agent's own tasks: what runs beside the application, kept apart from it.

They live in one shielded scope, under supervisors. Failures in there are handled in there, and are visible in the
statistics and the log. Only the end of the process gets out.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from ..agent_log import RateLimitedLog
from ..backend import Runner, loop_notifier, must_propagate
from ..pipeline.pipelines import Pipelines
from ..pipeline.route import Route
from ..record.suppression import suppress_instrumentation
from ..signals import Signal
from .configuration_sync import ConfigurationSync
from .heartbeat import Heartbeat
from .meter_report import MeterReport
from .profile_tasks import ProfileTasks
from .segment_watch import SegmentWatch
from .supervisor import Supervisor
from .transport_runner import transport_runner

Child = Callable[[], Awaitable[None]]


class AgentTasks:
    """Heartbeat, report of meters, watch over segments, profile tasks, the collector's settings, and one reporter a
    signal.

    :ivar begun: set when they have begun
    :ivar ended: set when the channels are closed and empty, or no task is left to empty them
    :ivar runner: awaits a transport's methods where they can run; None as long as there is no such place
    """

    def __init__(
        self,
        heartbeat: Heartbeat,
        meter_report: MeterReport,
        segment_watch: SegmentWatch,
        profile_tasks: ProfileTasks | None,
        configuration_sync: ConfigurationSync | None,
        pipelines: Pipelines,
        route: Route,
        runtimes: frozenset[str],
        limited: RateLimitedLog,
        report_end: Callable[[], object],
    ) -> None:
        """
        :param report_end: called at the agent's stop when all but the events have been delivered
        :param profile_tasks: None: none can come
        :param configuration_sync: the same
        :param runtimes: where the transports run by themselves
        """
        self._heartbeat = heartbeat
        self._meter_report = meter_report
        self._segment_watch = segment_watch
        self._profile_tasks = profile_tasks
        self._configuration_sync = configuration_sync
        self._pipelines = pipelines
        self._route = route
        self._runtimes = runtimes
        self._limited = limited
        self._report_end = report_end
        self._scope = CancelScope(shield=True)
        self._work_scope = CancelScope()
        self._is_cut = False
        self._skip_backoff = anyio.Event()
        self._ends_at = math.inf
        self._end_scope = CancelScope()
        self.begun = anyio.Event()
        self.ended = anyio.Event()
        self.runner: Runner | None = None

    async def live(self, is_end: Callable[[], bool]) -> None:
        """Live until `leave`, in this task and others. No error but the end of the process reaches the task's group: it
        would end the host.

        :param is_end: whether the host is about to end, too
        """
        suppress_instrumentation.set(True)
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._supervised(self._inhabit, "agent", self._switch_off_all).run, group)
        except BaseException as error:  # noqa: BLE001, RUF100  (let out, it would end the host)
            if must_propagate(error):
                raise
            self._orphan(error, is_end())
        finally:
            self.begun.set()
            self.ended.set()

    def leave(self) -> None:
        """End all of it now."""
        self._scope.cancel()

    def finish(self, grace: float) -> None:
        """The agent stops: restart what crashed without a rest, and end with the event of the end. A second call makes
        it no later.

        :param grace: seconds after which that event is sent, though other records are still on their way
        """
        self._ends_at = self._end_scope.deadline = min(self._ends_at, anyio.current_time() + grace)
        self._skip_backoff.set()

    def cut(self) -> None:
        """Give up what has not been delivered by now."""
        self._is_cut = True
        self._work_scope.cancel()

    async def work(self) -> None:
        """Report until the channels are closed and empty. The host calls it itself where the agent's tasks were ended
        before.

        :raises RuntimeError: when the tasks ended before
        """
        pipelines = self._pipelines
        async with anyio.create_task_group() as group:
            group.start_soon(self._supervised(self._heartbeat.run, "heartbeat", self._switch_off_all).run, group)
            if pipelines.is_on(Signal.METER):
                switch_off = partial(pipelines.switch_off, Signal.METER)
                group.start_soon(self._supervised(self._meter_report.run, "report of meters", switch_off).run, group)
            group.start_soon(self._supervised(self._segment_watch.run, "watch over segments", _nothing).run, group)
            if self._profile_tasks is not None:
                group.start_soon(self._supervised(self._profile_tasks.run, "profile tasks", _nothing).run, group)
            if self._configuration_sync is not None:
                sync = self._supervised(self._configuration_sync.run, "polls for settings", _nothing)
                group.start_soon(sync.run, group)
            if pipelines.spill is not None:
                spill = self._supervised(pipelines.spill.run, "spill to disk", pipelines.spill.give_up)
                group.start_soon(spill.run, group)
            await self._report()
            group.cancel_scope.cancel()
        if not pipelines.are_closed:
            # asyncio: a task that is cancelled before its first turn cannot be supervised, and ends its group
            raise RuntimeError("the agent's tasks ended before their time")

    async def _report(self) -> None:
        """Report until the channels are closed and empty."""
        done = anyio.Event()
        async with anyio.create_task_group() as group:
            if self._pipelines.is_on(Signal.EVENT):
                self._start_reporter(group, Signal.EVENT)
                switch_off = partial(self._pipelines.switch_off, Signal.EVENT)
                end = self._supervised(partial(self._end, done), "report of the end", switch_off)
                group.start_soon(end.run, group)
            async with anyio.create_task_group() as others:
                for signal, _ in self._pipelines:
                    if signal is not Signal.EVENT:
                        self._start_reporter(others, signal)
            done.set()

    def _start_reporter(self, group: TaskGroup, signal: Signal) -> None:
        reporter, switch_off = self._pipelines.reporters[signal], partial(self._pipelines.switch_off, signal)
        group.start_soon(self._supervised(reporter.run, f"reporter of {signal.value}s", switch_off).run, group)

    async def _end(self, done: anyio.Event) -> None:
        """Report the end behind all other records, since it has their ledger; or in time, if these take too long.

        :param done: set when no other record waits
        """
        await self._skip_backoff.wait()
        with CancelScope(deadline=self._ends_at) as self._end_scope:
            await done.wait()
        self._report_end()
        self._pipelines.close()

    async def _inhabit(self) -> None:
        """Work where the transports can run. Then stay there until the transports are closed."""
        self._pipelines.attach(loop_notifier())
        # not later: the host does not wait until the transports' thread can be made
        self.begun.set()
        suppress = partial(suppress_instrumentation.set, True)
        async with transport_runner(self._runtimes, self._note_problem, suppress) as runner:
            self.runner = runner
            self._route.attach(runner)
            if not self._is_cut:
                with CancelScope() as self._work_scope:
                    await self.work()
            self.ended.set()
            await anyio.sleep_forever()

    def _supervised(self, child: Child, name: str, switch_off: Callable[[], object]) -> Supervisor:
        return Supervisor(child, name, self._limited, switch_off, self._skip_backoff)

    def _switch_off_all(self) -> None:
        for signal, _ in self._pipelines:
            self._pipelines.switch_off(signal)
        # without the heartbeat no collector is found any more
        self._route.give_up()

    def _orphan(self, error: BaseException, is_end: bool) -> None:
        """Mostly, all tasks of the loop were cancelled, as only asyncio allows, and their canceller waits for them. The
        last flush is left to the host's own task."""
        self._pipelines.orphan()
        if not is_end:
            text = "the agent's tasks were ended from outside (%r); records wait, within their bounds, for its stop"
            self._limited.warn("cut", text, error)

    def _note_problem(self, context: Mapping[str, Any]) -> None:
        """Log an error that a library left unhandled in an asyncio loop of the agent's own."""
        # as arguments, since an error's own text may raise, and then only the line is lost
        self._limited.warn("internal", "%s: %r", context.get("message"), context.get("exception"))


def _nothing() -> None:
    """A task that gave up has no channel to close: without its watch, segments wait for the stop; without the polls,
    there are no profile tasks, and the settings stay as they are."""
