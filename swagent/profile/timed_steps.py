"""A coroutine whose steps are timed from within: the one in which a request begins was begun by the loop before."""

from __future__ import annotations

import asyncio

import sniffio

from ..record.trace.outcome import running_task
from .asyncio_steps import steps_of_loop
from .request_clock import RequestClock, Steps

running_loop = asyncio._get_running_loop  # noqa: SLF001
"""The loop of asyncio's that runs here; None: none does. Exported, and it does not raise as its public sister does."""


def steps_here() -> Steps:
    """The steps of the loop that runs."""
    if sniffio.current_async_library() == "trio":
        from .trio_steps import steps_of_run  # noqa: PLC0415, RUF100  (optional)

        return steps_of_run()
    return steps_of_loop(asyncio.get_running_loop())


class TimedSteps(RequestClock):
    """The clock of a request, which is awaited instead of the application's coroutine, and passes every step on. Code
    that walks along a task's awaitables sees the coroutine: the attributes are the coroutine's.

    Clock and driver are one object, since every request has one. A request that is over in the step in which it began
    reads no clock here.
    """

    __slots__ = ()

    def __await__(self) -> TimedSteps:
        return self

    def __iter__(self) -> TimedSteps:
        return self

    def __next__(self) -> object:
        # most requests are over with this call, so it leaves out whatever it can
        if self.is_open and self._is_out:
            self.resume()
        awaited = self._inner.send(None)
        self.suspend()
        return awaited

    def send(self, value: object) -> object:
        """A step; as of a generator."""
        if self.is_open and self._is_out:
            self.resume()
        try:
            awaited = self._inner.send(value)
        finally:
            del value  # trio's holds the exception that the coroutine raises, and that would hold this frame
        self.suspend()
        return awaited

    def throw(self, *error: object) -> object:
        """A step; as of a generator."""
        if self.is_open and self._is_out:
            self.resume()
        elif not self.is_open:
            self.open()
        self._thrown_into = id(running_task())
        try:
            awaited = self._inner.throw(*error)
        finally:
            self._thrown_into = 0
            del error  # or it and this frame would hold each other
        self.suspend()
        return awaited

    def close(self) -> None:
        """The coroutine will not go on."""
        self._inner.close()


def _of_inner(name: str) -> property:
    """An attribute of the coroutine; there is none where the coroutine has none."""
    return property(lambda self: getattr(self._inner, name))


# one by one: a class that has `__getattr__` looks up each of its own attributes five times as slowly
for _name in (
    "cr_await", "cr_code", "cr_frame", "cr_running", "cr_suspended", "cr_origin", "gi_yieldfrom", "gi_code", "gi_frame",
    "gi_running", "gi_suspended",
):  # fmt: skip
    setattr(TimedSteps, _name, _of_inner(_name))
