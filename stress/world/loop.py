"""An asyncio loop whose clock jumps, and in which the seed decides which ready task is next.

It has no sockets, no threads and no signals: nothing happens in it that its history does not say. While something is
ready no time passes. When nothing is, the clock jumps to the next timer.

asyncio runs what is ready in the order in which it became so. But that order depends on the order of the system's
events, so an application must not count on it between tasks. Here the tasks that are ready in one turn of the loop run
in an order that is drawn. All other callbacks keep their places, since libraries do count on those.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, cast

_MOST_TURNS = 20_000


class EndlessError(RuntimeError):
    """This never ends: every task waits and there is no timer, or some task is always ready and no time passes."""


class Patience:
    """Counts the steps in which no time passes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = 0.0
        self._steps = 0

    def check(self, now: float) -> None:
        """Count a step.

        :raises EndlessError: when there were too many
        """
        if now != self._now:
            self._now, self._steps = now, 0
        self._steps += 1
        if self._steps > self._most:
            raise EndlessError(f"{self._most} steps, and no time has passed")


class _Selector:
    """Where the loop sleeps: here the clock jumps."""

    def __init__(self, loop: WorldLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise EndlessError("\n".join(sorted(map(repr, asyncio.all_tasks(self._loop)))))
        if timeout > 0:
            self._loop.jump(timeout)
        self._loop.begin_turn()
        return []


class WorldLoop(asyncio.BaseEventLoop):
    """See the module.

    :ivar turns: how many turns it has done
    :ivar on_turn: called between two turns
    :ivar connect: makes the transport of a connection from what replaces its socket
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._now = 0.0
        self._numbers = itertools.count()
        self._patience = Patience(_MOST_TURNS)
        self._selector = _Selector(self)
        # timers at great times must not miss each other for the rounding of a float
        self._clock_resolution = 1e-9
        self.turns = 0
        self.on_turn: Callable[[], object] = int
        self.connect: Callable[..., Any] = _cannot_connect
        self.set_task_factory(cast("Any", _new_task))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def begin_turn(self) -> None:
        """Called where asyncio looks for events."""
        self.turns += 1
        self._patience.check(self._now)
        self.on_turn()
        self._shuffle()

    def number(self) -> int:
        """The number of the next task."""
        return next(self._numbers)

    def _shuffle(self) -> None:
        """Draw the order of the ready tasks. They are sorted first: some of asyncio's orders are those of a set."""
        ready: Any = self._ready  # type: ignore[attr-defined]
        if len(ready) < 2:
            return
        places = [place for place, handle in enumerate(ready) if _task_of(handle) is not None]
        if len(places) < 2:
            return
        handles = sorted((ready[place] for place in places), key=_number_of)
        self._random.shuffle(handles)
        for place, handle in zip(places, handles, strict=True):
            ready[place] = handle

    async def create_connection(  # type: ignore[override]
        self, factory: Callable[[], Any], *, sock: Any, ssl: Any = None, server_hostname: Any = None
    ) -> tuple[Any, Any]:
        assert ssl is None
        assert server_hostname is None
        protocol = factory()
        transport = self.connect(sock, protocol)
        is_made = self.create_future()
        self.call_soon(protocol.connection_made, transport)
        self.call_soon(transport.begin)
        self.call_soon(_set, is_made)
        await is_made
        return transport, protocol

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        self._check_closed()  # type: ignore[attr-defined]
        return self.call_soon(callback, *args, context=context)

    def _process_events(self, events: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """There is one thread."""


class _Task(asyncio.Task[Any]):
    """A task with a number: those that are made first have lower ones."""

    number: int


def _new_task(loop: Any, coroutine: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    task = _Task(coroutine, loop=loop, **options)
    task.number = loop.number()
    return task


def _task_of(handle: asyncio.Handle) -> asyncio.Task[Any] | None:
    """The task whose step a handle is."""
    owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    return owner if isinstance(owner, asyncio.Task) else None


def _number_of(handle: asyncio.Handle) -> int:
    return getattr(_task_of(handle), "number", -1)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _cannot_connect(*_: object) -> Any:
    raise OSError("there is no network")
