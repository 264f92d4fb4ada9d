"""Keeps a child alive, and keeps its failures from the application.

Only a real cancellation gets out. Everything else is counted as a crash, logged, and answered by a restart after a
backoff; a child that crashes again and again is switched off, visibly. A structured-concurrency agent without this
would cancel the application that it observes: an exception in a child cancels the whole task group, the host's body
included.

Each restart is a new task. On asyncio the old one may have been cancelled together with all tasks of the loop, and
their canceller waits for it to end.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from ..agent_log import RateLimitedLog, say
from ..backend import cancelled_natively, must_propagate
from ..pipeline.failover import Backoff

MAX_CRASHES = 5
CRASH_WINDOW = 60.0
_BACKOFF = Backoff(base=1.0, factor=2.0, cap=60.0)


class Supervisor:
    """Runs one child until it returns, however often it crashes, or until it crashed 5 times within 60 seconds."""

    def __init__(
        self,
        child: Callable[[], Awaitable[None]],
        name: str,
        limited: RateLimitedLog,
        switch_off: Callable[[], object],
        skip_backoff: anyio.Event,
    ) -> None:
        """
        :param child: started anew after each crash
        :param switch_off: called when the child is given up
        :param skip_backoff: once it is set, restarts do not wait
        """
        self._child = child
        self._name = name
        self._limited = limited
        self._switch_off = switch_off
        self._skip_backoff = skip_backoff
        self._crashes: deque[float] = deque(maxlen=MAX_CRASHES)
        self._was_cut = False

    async def run(self, group: TaskGroup) -> None:
        """Run the child in this task of a group; after a crash, in the next.

        :param group: the one that this task belongs to
        """
        try:
            if self._crashes:
                await self._rest()
            await self._child()
        except BaseException as error:  # noqa: BLE001, RUF100  (sorted out here)
            if must_propagate(error):
                raise
            if self._may_restart(error):
                group.start_soon(self.run, group)

    async def _rest(self) -> None:
        with anyio.move_on_after(_BACKOFF.delay(len(self._crashes), lambda: 1.0)):
            await self._skip_backoff.wait()
        if self._was_cut and not self._skip_backoff.is_set():
            # logged only now: when all tasks are cancelled, that is mostly the end of the program
            self._limited.warn("cut", "%s was cancelled from outside and is started again", self._name)

    def _may_restart(self, crash: BaseException) -> bool:
        """Count a crash, and return whether there is another try."""
        self._crashes.append(anyio.current_time())
        if len(self._crashes) == MAX_CRASHES and self._crashes[-1] - self._crashes[0] < CRASH_WINDOW:
            say(logging.ERROR, "%s crashed %d times in a minute and is switched off", self._name, MAX_CRASHES,
                exc_info=crash)  # fmt: skip
            self._switch_off()
            return False
        self._was_cut = cancelled_natively()
        if not self._was_cut:
            name = self._name
            self._limited.warn(f"crash of {name}", "%s crashed and is started again: %r", name, crash)
        return True
