"""Where the cases run: their tasks are stopped at pauses, and go on, or are cancelled, in the order that is drawn.

Nothing depends on time: a step is taken when every task waits at a pause.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import anyio
import anyio.abc
import trio
from anyio.lowlevel import checkpoint

Work = Callable[[], Awaitable[None]]
_CANCELLED = 0.06


class Host:
    """One loop, for one block of cases. The tasks are cancelled by scopes of their own."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._paused: list[tuple[anyio.CancelScope, anyio.Event]] = []
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._running = self._joining = 0
        self._group: Any = None

    async def pause(self) -> None:
        """Wait for one's turn; it may be a cancellation."""
        turn = anyio.Event()
        self._paused.append((self._scopes[anyio.get_current_task().id], turn))
        await turn.wait()

    async def beside(self, work: Work, *, is_joined: bool) -> None:
        """Do it in a task of its own."""
        ended = self._start(work, is_joined=is_joined)
        if is_joined:
            self._joining += 1
            await ended.wait()

    def _start(self, work: Work, *, is_joined: bool) -> anyio.Event:
        ended = anyio.Event()
        self._running += 1
        self._group.start_soon(self._do, work, ended, is_joined)
        return ended

    async def _do(self, work: Work, ended: anyio.Event, is_joined: bool) -> None:
        task = anyio.get_current_task().id
        try:
            with anyio.CancelScope() as scope:
                self._scopes[task] = scope
                await work()
        finally:
            del self._scopes[task]
            self._running -= 1
            # from here on the other task goes on
            self._joining -= is_joined
            ended.set()

    async def run(self, works: list[Work]) -> None:
        """Do all of them, and what they do beside."""
        async with anyio.create_task_group() as self._group:
            for work in works:
                self._start(work, is_joined=False)
            while self._running:
                if not self._paused or len(self._paused) + self._joining < self._running:
                    await checkpoint()
                    continue
                scope, turn = self._paused.pop(self._dice.randrange(len(self._paused)))
                if self._dice.random() < _CANCELLED:
                    scope.cancel()
                else:
                    turn.set()
                await checkpoint()


def run_block(loop: str, dice: Random, begin: Callable[[Any], list[Work]]) -> None:
    """Run one block of cases to its end.

    :param loop: asyncio, uvloop or trio
    :param begin: makes the block's work, for its host
    """

    async def live() -> None:
        host = Host(dice)
        await host.run(begin(host))

    if loop == "trio":
        inside: Any = importlib.import_module("trio._core._run")
        inside._ALLOW_DETERMINISTIC_SCHEDULING = True
        inside._r.seed(dice.getrandbits(32))
        # or its text has the address of a task
        trio.Cancelled.__str__ = lambda _: "cancelled"  # type: ignore[method-assign]
    backend = "trio" if loop == "trio" else "asyncio"
    anyio.run(live, backend=backend, backend_options={"use_uvloop": True} if loop == "uvloop" else {})
