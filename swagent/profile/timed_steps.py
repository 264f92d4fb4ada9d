"""A coroutine whose steps are timed from within: the one in which a request begins was begun by the loop before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import CoroutineType
from typing import Any

import sniffio

from .asyncio_steps import steps_of_loop
from .request_clock import RequestClock, Steps, request_clock
from .request_tasks import RequestTasks


def steps_here() -> Steps:
    """The steps of the loop that runs."""
    if sniffio.current_async_library() == "trio":
        from .trio_steps import steps_of_run  # noqa: PLC0415, RUF100  (optional)

        return steps_of_run()
    return steps_of_loop(asyncio.get_running_loop())


class TimedSteps:
    """Awaited instead of a coroutine, it passes every step on. Code that walks along a task's awaitables sees the
    coroutine: the attributes are the coroutine's."""

    __slots__ = ("_inner", "_send", "_steps", "clock")

    def __init__(self, awaitable: Awaitable[object], steps: Steps, tasks: RequestTasks) -> None:
        """The clock begins, and this context holds it.

        :param tasks: those of the request
        """
        # not by `__await__`, whose wrapper hides what it awaits
        self._inner: Any = awaitable if type(awaitable) is CoroutineType else awaitable.__await__()
        # an iterator may have none
        self._send: Any = getattr(self._inner, "send", None) or self._next
        steps.enter()
        self._steps: Steps | None = steps
        self.clock = RequestClock(steps, tasks)
        request_clock.set(self.clock)

    def __await__(self) -> TimedSteps:
        return self

    def __iter__(self) -> TimedSteps:
        return self

    def __next__(self) -> object:
        return self.send(None)

    def send(self, value: object) -> object:
        """A step; as of a generator."""
        clock = self.clock
        clock.begin()
        try:
            return self._send(value)
        except BaseException:
            self._leave()
            raise
        finally:
            clock.end()

    def throw(self, *error: object) -> object:
        """A step; as of a generator."""
        clock = self.clock
        clock.begin()
        try:
            return self._inner.throw(*error)
        except BaseException:
            self._leave()
            raise
        finally:
            clock.end()

    def close(self) -> None:
        """The coroutine will not go on."""
        self._leave()
        self._inner.close()

    def _next(self, _: object) -> object:
        return next(self._inner)

    def _leave(self) -> None:
        steps, self._steps = self._steps, None
        if steps is not None:
            self.clock.stop()
            steps.leave()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)
