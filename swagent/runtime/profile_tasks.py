"""Polls the collector for profile tasks, and has each carried out: one at a time, and no poll meanwhile.

A task may begin later than it comes. It waits, and the polls go on.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from ..abc import Command, Instance, Transport
from ..backend import loop_notifier
from ..config import Config
from ..pipeline.pipelines import Pipelines
from ..pipeline.route import Route
from ..profile.profile_task import ProfileTask
from ..profile.profiler import Profiler
from ..signals import Signal
from ..system_thread import is_patched
from .polling import Polling

_MAX_UNREPORTED = 16
_MAX_WAITING = 16


class ProfileTasks:
    """One agent's."""

    def __init__(self, route: Route, profiler: Profiler, instance: Instance, interval: float) -> None:
        """:param interval: seconds between two polls"""
        self._polling = Polling(route, profiler.count)
        self._profiler = profiler
        self._instance = instance
        self._interval = interval
        self._unreported: list[str] = []
        self._waiting: list[ProfileTask] = []  # for their time, the first first

    async def run(self) -> None:
        """Poll and profile until it is cancelled."""
        polling = self._polling
        while True:
            await self._carry_out_until(anyio.current_time() + max(self._interval, polling.pause))
            polling.pause = 0.0
            commands: Sequence[Command] = ()
            # an answer may take long, and a collector may be away for hours
            with anyio.move_on_after(self._ahead()):
                await self._report()
                commands = await self._poll()
            task = self._profiler.choose(commands, is_full=len(self._waiting) >= _MAX_WAITING)
            if task is not None:
                self._waiting = sorted([*self._waiting, task], key=lambda each: each.start)

    def _ahead(self) -> float | None:
        """Seconds until the first task that waits begins. None: no task waits."""
        return max(0.0, self._waiting[0].start / 1000 - self._profiler.now()) if self._waiting else None

    async def _carry_out_until(self, moment: float) -> None:
        """Carry out the tasks whose time comes, until it is time for the next poll.

        :param moment: by the loop's clock; a task that has begun by then is carried out to its end
        """
        while True:
            left = moment - anyio.current_time()
            ahead = self._ahead()
            if ahead is None or ahead > max(0.0, left):
                await anyio.sleep(max(0.0, left))
                return
            await anyio.sleep(ahead)
            task = self._waiting.pop(0)
            if task.end / 1000 > self._profiler.now():
                await self._carry_out(task)
            else:
                self._profiler.count("expired")

    async def _carry_out(self, task: ProfileTask) -> None:
        is_over, notify = anyio.Event(), loop_notifier()
        try:
            self._profiler.start(task, lambda: notify(is_over.set))
            with anyio.move_on_after(min(task.duration, max(0.0, task.end / 1000 - self._profiler.now()))):
                await is_over.wait()
        finally:
            self._profiler.stop()
        self._unreported = [*self._unreported[1 - _MAX_UNREPORTED :], task.id]
        await self._report()

    async def _poll(self) -> Sequence[Command]:
        since = self._profiler.last_command
        return await self._polling.call("profile_commands", self._instance, since) or ()

    async def _report(self) -> None:
        """Report the tasks that are over; one whose report fails is reported again at the next poll."""
        for task in self._unreported.copy():
            if await self._polling.call("report_profile_finish", self._instance, task) is False:
                return
            self._unreported.remove(task)


def profile_tasks(
    config: Config,
    transport: type[Transport],
    pipelines: Pipelines,
    route: Route,
    profiler: Profiler,
    instance: Instance,
) -> ProfileTasks | None:
    """The polls for profile tasks; None: the transport brings none, or they are switched off."""
    if not pipelines.is_on(Signal.PROFILE) or not hasattr(transport, "profile_commands"):
        return None
    if is_patched():
        return None  # the sampler has to run beside the thread that it looks at, and greenlets show no frames
    return ProfileTasks(route, profiler, instance, config.get_profile_task_interval)
