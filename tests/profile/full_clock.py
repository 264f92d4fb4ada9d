"""A clock of a request that takes every step of every task from the loop, and nothing from the request: what the light
clock is compared with. It is the one that the agent had before, less what cost and what it named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any


class FullClock:
    """It begins in the step in which it is made, and `stop` gives seconds of running, ready and awaiting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._seconds = [0.0, 0.0, 0.0]
        self._woken, self._depth = 0, 1
        self._late: float | None = None
        self._last = loop.time()
        self._before = {name: getattr(loop, name) for name in ("call_soon", "call_at")}
        _clock.set(self)
        loop.call_soon = self._call_soon  # type: ignore[method-assign, assignment]
        loop.call_at = self._call_at  # type: ignore[method-assign, assignment]

    def begin(self) -> None:
        self._count(self._loop.time())
        self._depth += 1

    def end(self) -> None:
        self._count(self._loop.time())
        self._depth -= 1

    def stop(self) -> list[float]:
        self._count(self._loop.time())
        for name in self._before:
            delattr(self._loop, name)
        return self._seconds

    def _wake(self) -> None:
        now = self._loop.time()
        if self._late is not None and self._late < now and not self._depth and not self._woken:
            self._count(max(self._late, self._last))
            self._woken += 1
            self._count(now)
            return
        self._count(now)
        self._woken += 1

    def _count(self, now: float) -> None:
        state = 0 if self._depth else 1 if self._woken else 2
        self._seconds[state] += now - self._last
        self._last = now

    def _call_soon(self, callback: Any, *args: object, context: Context | None = None) -> object:
        is_step = isinstance(getattr(callback, "__self__", None), asyncio.Task)
        if is_step and context is not None and context.get(_clock) is self:
            self._wake()
            callback = self._step(callback)
        return self._before["call_soon"](callback, *args, context=context)

    def _step(self, callback: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object) -> object:
            self.begin()
            self._woken -= 1
            try:
                return callback(*args)
            finally:
                self.end()

        return step

    def _call_at(self, when: float, callback: Any, *args: object, context: Context | None = None) -> object:
        def call(*given: object) -> object:
            self._late = when
            try:
                return callback(*given)
            finally:
                self._late = None

        is_ours = _clock.get() is self
        return self._before["call_at"](when, call if is_ours else callback, *args, context=context)


_clock: ContextVar[FullClock | None] = ContextVar("full_clock", default=None)
