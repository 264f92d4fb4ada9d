"""Where the cases run: their tasks are stopped at pauses, and go on, or are cancelled, in the order that is drawn.

Nothing depends on time: a step is taken when every task waits at a pause.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Protocol

import trio

Work = Callable[[], Awaitable[None]]
_CANCELLED = 0.06


class Host(Protocol):
    """One loop, for one block of cases."""

    async def pause(self) -> None:
        """Wait for one's turn; it may be a cancellation."""
        ...

    async def beside(self, work: Work, *, is_joined: bool) -> None:
        """Do it in a task of its own."""
        ...


class AsyncioHost:
    """On asyncio or uvloop. The tasks are cancelled by `Task.cancel`."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._paused: list[tuple[asyncio.Task[Any], asyncio.Future[None]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._joining = 0

    async def pause(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        turn = asyncio.get_running_loop().create_future()
        self._paused.append((task, turn))
        await turn

    async def beside(self, work: Work, *, is_joined: bool) -> None:
        task = asyncio.ensure_future(self._do(work, is_joined))
        self._tasks.append(task)
        if is_joined:
            self._joining += 1
            await asyncio.wait([task])

    async def _do(self, work: Work, is_joined: bool) -> None:
        try:
            await work()
        finally:
            # from here on the other task goes on
            self._joining -= is_joined

    async def run(self, works: list[Work]) -> None:
        self._tasks += [asyncio.ensure_future(self._do(work, is_joined=False)) for work in works]
        while running := [task for task in self._tasks if not task.done()]:
            if not self._paused or len(self._paused) + self._joining < len(running):
                await asyncio.sleep(0)
                continue
            task, turn = self._paused.pop(self._dice.randrange(len(self._paused)))
            if self._dice.random() < _CANCELLED:
                task.cancel()
            else:
                turn.set_result(None)
            await asyncio.sleep(0)
        for task in self._tasks:
            if not task.cancelled():
                task.result()


class TrioHost:
    """On trio. The tasks are cancelled by scopes of their own."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._paused: list[tuple[trio.CancelScope, trio.Event]] = []
        self._scopes: dict[object, trio.CancelScope] = {}
        self._running = self._joining = 0
        inside: Any = importlib.import_module("trio._core._run")
        inside._ALLOW_DETERMINISTIC_SCHEDULING = True
        inside._r.seed(dice.getrandbits(32))
        # or its text has the address of a task
        trio.Cancelled.__str__ = lambda _: "cancelled"  # type: ignore[method-assign]

    async def pause(self) -> None:
        turn = trio.Event()
        self._paused.append((self._scopes[trio.lowlevel.current_task()], turn))
        await turn.wait()

    async def beside(self, work: Work, *, is_joined: bool) -> None:
        ended = trio.Event()
        self._running += 1
        self._nursery.start_soon(self._do, work, ended, is_joined)
        if is_joined:
            self._joining += 1
            await ended.wait()

    async def _do(self, work: Work, ended: trio.Event, is_joined: bool) -> None:
        task = trio.lowlevel.current_task()
        try:
            with trio.CancelScope() as scope:
                self._scopes[task] = scope
                await work()
        finally:
            del self._scopes[task]
            self._running -= 1
            self._joining -= is_joined
            ended.set()

    async def run(self, works: list[Work]) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for work in works:
                self._running += 1
                nursery.start_soon(self._do, work, trio.Event(), False)
            while self._running:
                if not self._paused or len(self._paused) + self._joining < self._running:
                    await trio.lowlevel.checkpoint()
                    continue
                scope, turn = self._paused.pop(self._dice.randrange(len(self._paused)))
                if self._dice.random() < _CANCELLED:
                    scope.cancel()
                else:
                    turn.set()
                await trio.lowlevel.checkpoint()


def run_block(loop: str, dice: Random, begin: Callable[[Any], list[Work]]) -> None:
    """Run one block of cases to its end.

    :param loop: asyncio, uvloop or trio
    :param begin: makes the block's work, for its host
    """

    async def live() -> None:
        host = TrioHost(dice) if loop == "trio" else AsyncioHost(dice)
        await host.run(begin(host))

    if loop == "trio":
        trio.run(live)
        return
    if loop == "uvloop":
        import uvloop

        running: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    else:
        running = asyncio.SelectorEventLoop()
    try:
        running.run_until_complete(live())
    finally:
        running.close()
