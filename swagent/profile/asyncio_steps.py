"""The steps of an asyncio loop's tasks, uvloop's among them.

Theory of operation
-------------------
Every step of a task but those of an eager start is given to the loop by `loop.call_soon`, in the task's context, at the
very moment at which the task gets ready: when it is made, when the future that it awaits is done, when it is cancelled.
The tasks of C look the method up on the loop each time. So, while a request is timed, an attribute of the loop
hides that method: it finds the request's clock in the context, notes that a task is ready, and has the step
note its begin and its end. Child tasks inherit the context. An eager start runs inside of its parent's step.

A loop that is held is late to see what has happened. A timer knows when it was due, and a thread when it called in:
their callbacks say so to the tasks that they wake. When a socket had its bytes is not known.

The other facts that a task's steps show are noted in `asyncio_tasks`: its begin, its cancellation, its end. An eager
start has no first step here, so another attribute hides `create_task`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import Context
from typing import Any

from ..inspection.garbage_time import garbage_time
from .asyncio_tasks import create_seen, note_end, note_wake
from .request_clock import RequestClock, request_clock

_NAMES = ("call_soon", "call_soon_threadsafe", "call_later", "call_at", "create_task")
_ABSENT = object()
_NUMBERS = (float, int)
_TASK: type[object] = asyncio.Task


def steps_of_loop(loop: asyncio.AbstractEventLoop) -> AsyncioSteps:
    """The steps of a loop that are followed already, or new ones."""
    found = getattr(loop.call_soon, "__self__", None)
    return found if isinstance(found, AsyncioSteps) else AsyncioSteps(loop)


class AsyncioSteps:
    """Of one loop. Each method is for the loop's own thread, but for `call_soon_threadsafe`.

    :ivar late: what says since when a task could run that is woken now, if it is known
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._users = 0
        self._before: dict[str, object] = {}
        self._ours: dict[str, object] = {}
        self.late: _Late | None = None
        # asked for once: while this is in place they are found behind it
        self._call_soon, self._call_soon_threadsafe, self._call_later, self._call_at, self._create_task = (
            getattr(loop, name) for name in _NAMES
        )

    def enter(self) -> None:
        """One clock more.

        :raises AttributeError: the loop takes no attributes
        """
        if not self._users:
            attributes = vars(self._loop) if hasattr(self._loop, "__dict__") else {}
            self._before = {name: attributes.get(name, _ABSENT) for name in _NAMES}
            self._ours = {name: getattr(self, name) for name in _NAMES}
            for name, ours in self._ours.items():
                setattr(self._loop, name, ours)
            garbage_time.enter()
        self._users += 1

    def leave(self) -> None:
        """One clock less. With the last one the loop is as it was."""
        self._users -= 1
        if self._users:
            return
        garbage_time.leave()
        # emptied, or they and this would hold each other
        for name, ours in [(name, self._ours.pop(name)) for name in _NAMES]:
            if vars(self._loop).get(name) is not ours:
                continue  # another attribute hides ours, and would be lost
            if self._before[name] is _ABSENT:
                delattr(self._loop, name)
            else:
                setattr(self._loop, name, self._before[name])

    # -- what hides the loop's methods -------------------------------------------------------------------------------

    def call_soon(self, callback: Callable[..., object], *args: object, context: Context | None = None) -> object:
        """Most calls come from tasks and futures."""
        clock = context.get(request_clock) if context is not None else None
        if clock is not None and clock.steps is self:
            task = getattr(callback, "__self__", None)
            # anything else may be cancelled and never run
            if isinstance(task, _TASK) and type(callback) is not _Step:
                late = self.late
                clock.wake(late.due if late is not None else None)
                note_wake(task, clock.tasks, late.seconds if late is not None else None)
                callback = _Step(task, clock, callback)
        return self._call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> object:
        """The callback that a thread calls with its result."""
        if callable(callback):
            callback = _Late(self, callback, time.monotonic(), None)
        return self._call_soon_threadsafe(callback, *args, context=context)

    def call_later(
        self, delay: object, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> object:
        """asyncio's calls `call_at` then."""
        return self._call_later(delay, self._with_due(callback, delay), *args, context=context)

    def call_at(
        self, when: Any, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> object:
        """uvloop's calls `call_later` then."""
        is_time = isinstance(when, _NUMBERS)
        callback = self._with_due(callback, when - self._loop.time() if is_time else None)
        return self._call_at(when, callback, *args, context=context)

    def _with_due(self, callback: Callable[..., object], delay: object) -> Callable[..., object]:
        """A timer's callback that says when it was due, if it belongs to a request that is timed."""
        clock = request_clock.get()
        if clock is None or clock.steps is not self or type(callback) is _Late or not callable(callback):
            return callback
        if not isinstance(delay, _NUMBERS):
            return callback  # the loop refuses a delay that is not a number
        # a timer that was early, and waits for the rest
        seconds = self.late.seconds if self.late is not None and self.late.callback == callback else delay
        return _Late(self, callback, time.monotonic() + delay, seconds)

    def create_task(self, coroutine: object, **options: object) -> object:
        """A task that is seen by its first step is not looked for here."""
        return create_seen(self._create_task, self._loop, coroutine, options)


class _Step:
    """A step of a task, which the loop calls. In the debug mode asyncio names a slow one by `__self__`."""

    __slots__ = ("__self__", "_clock", "_run")

    def __init__(self, task: object, clock: RequestClock, run: Callable[..., object]) -> None:
        self.__self__ = task
        self._clock = clock
        self._run = run

    def __call__(self, *args: object) -> object:
        self._clock.begin_woken()
        try:
            return self._run(*args)
        finally:
            clock = self._clock
            clock.end()
            if clock.steps is not None:
                note_end(self.__self__, clock.tasks)

    def __repr__(self) -> str:
        return repr(self._run)


class _Late:
    """A callback that the loop may call later than it was to be called.

    :ivar due: when it was, by the monotonic clock
    :ivar seconds: how long the timer was to run; None: it is none
    """

    __slots__ = ("_steps", "callback", "due", "seconds")

    def __init__(self, steps: AsyncioSteps, callback: Callable[..., object], due: float, seconds: float | None) -> None:
        self._steps = steps
        self.callback = callback
        self.due = due
        self.seconds = seconds

    def __call__(self, *args: object) -> object:
        self._steps.late = self
        try:
            return self.callback(*args)
        finally:
            self._steps.late = None

    def __repr__(self) -> str:
        return repr(self.callback)
