"""The steps of an asyncio loop's tasks, uvloop's among them.

Theory of operation
-------------------
Every step of a task but those of an eager start is given to the loop by `loop.call_soon`, in the task's context, at the
very moment at which the task gets ready: when it is made, when the future that it awaits is done, when it is cancelled.
The tasks of C look the method up on the loop each time. So an attribute of the loop hides that method: it finds the
request's clock in the context, and notes that a task is ready. The step of a child task notes its begin and its end;
the request's own task is driven by its clock, see `timed_steps`. Child tasks inherit the context. An eager start runs
inside of its parent's step.

A loop that is held is late to see what has happened. A timer knows when it was due, and a thread when it called in:
their callbacks say so to the tasks that they wake. When a socket had its bytes is not known.

Where an agent splits the time of each request the attributes are there until it stops: to put them in place for each
request would cost more than they do. Else they are there while such a request lives. They are functions, since calls of
methods cost more.

Where the tasks of a request are listed, the other facts that their steps show are noted in `asyncio_tasks`: begin,
cancellation, end. An eager start has no first step here, so `create_task` is hidden while such a request lives.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from ..acceleration import native
from ..inspection.garbage_time import garbage_time
from ..record.trace.context import current
from ..request.split_times import SplitTimes
from .asyncio_tasks import create_seen, note_end, note_wake
from .awaited import AwaitedTimes
from .request_clock import RequestClock, add_wait_of, name_of_open_call, note_wait_of, request_clock
from .wait_names import name_of_place

_NAMES = ("call_soon", "call_soon_threadsafe", "call_later", "call_at")
_ABSENT = object()
_NUMBERS = (float, int)
_TASK: type[object] = asyncio.Task
_PLACE = "_swagent_steps"


def steps_of_loop(loop: asyncio.AbstractEventLoop) -> AsyncioSteps:
    """The steps of a loop that an agent keeps already, or new ones."""
    with _lock:
        found: Any = vars(loop).get(_PLACE) if hasattr(loop, "__dict__") else None
        return AsyncioSteps(loop) if found is None else found


class _StepsState:
    """
    :ivar late: the callback that the loop calls just now, if it may be late; None: there is none
    """

    def __init__(self) -> None:
        self.late: _Late | None = None


class _Late:
    """A callback that the loop may call later than it was to be called.

    :ivar due: when it was, by the monotonic clock
    :ivar seconds: how long the timer was to run; None: it is none
    """

    __slots__ = ("_steps", "callback", "due", "seconds")

    def __init__(self, steps: _StepsState, callback: Callable[..., object], due: float, seconds: float | None) -> None:
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


if TYPE_CHECKING:
    ChosenState = _StepsState
    Late = _Late
else:
    ChosenState, Late = (_StepsState, _Late) if native is None else (native.Steps, native.Late)


class AsyncioSteps(ChosenState):
    """Of one loop. Each method is for the loop's own thread, but for `enter` and `leave`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop
        self._agents = self._users = 0
        self._listed = 0
        self._hidden = _Hidden(loop)
        self._hidden_for_tasks = _Hidden(loop)

    def is_here(self) -> bool:
        """Whether the loop runs now."""
        # exported, and it does not raise in a run of trio, as its public sister does
        return asyncio._get_running_loop() is self.loop  # noqa: SLF001

    def keep(self) -> None:
        """One agent more: the steps of this loop are these. As long as nothing is reported, no method is hidden.

        :raises AttributeError: the loop takes no attributes
        """
        with _lock:
            if not self._agents:
                setattr(self.loop, _PLACE, self)
            self._agents += 1

    def let_go(self) -> None:
        """One agent less."""
        with _lock:
            self._agents -= 1
            if not self._agents:
                vars(self.loop).pop(_PLACE, None)

    def enter(self) -> None:
        """Begin to report, for one user more."""
        with _lock:
            if not self._users:
                self._hidden.put({name: getattr(self, f"_{name}")(getattr(self.loop, name)) for name in _NAMES})
                garbage_time.enter()
            self._users += 1

    def leave(self) -> None:
        """One user less. Without any the loop's methods are as they were."""
        with _lock:
            self._users -= 1
            if not self._users:
                garbage_time.leave()
                self._hidden.take_back()

    def follow_tasks(self) -> None:
        """One request more whose tasks are listed."""
        if not self._listed:
            create_task: Callable[..., object] = self.loop.create_task

            def create_seen_task(coroutine: object, **options: object) -> object:
                # a task that is seen by its first step is not looked for here
                return create_seen(create_task, self.loop, coroutine, options)

            self._hidden_for_tasks.put({"create_task": create_seen_task})
        self._listed += 1

    def leave_tasks(self) -> None:
        """One less."""
        self._listed -= 1
        if not self._listed:
            self._hidden_for_tasks.take_back()

    # -- what hides the loop's methods -------------------------------------------------------------------------------

    def _call_soon(self, inner: Callable[..., object]) -> Callable[..., object]:
        steps = self
        if native is not None:
            return native.Hiding("call_soon", inner, self, self._noted)  # type: ignore[no-any-return]

        def call_soon(callback: Callable[..., object], *args: object, context: Context | None = None) -> object:
            # most calls come from tasks and futures
            if context is not None:
                clock = context.get(request_clock)
                if clock is not None and clock.steps is steps:
                    callback = steps._noted(callback, clock)
            return inner(callback, *args, context=context) if args else inner(callback, context=context)

        return call_soon

    def _noted(self, callback: Callable[..., object], clock: RequestClock) -> Callable[..., object]:
        """A task of a request is ready, if this is the step of one. Anything else may be cancelled and never run."""
        task = getattr(callback, "__self__", None)
        if not isinstance(task, _TASK) or type(callback) in _STEPS:
            return callback
        late = self.late
        clock.wake(late.due if late is not None else None)
        if clock.tasks is not None:
            note_wake(task, clock.tasks, late.seconds if late is not None else None)
        if id(task) == clock.own and not clock.is_woken:
            clock.is_woken = True
            return callback
        return _Step(task, clock, callback)

    def _call_soon_threadsafe(self, inner: Callable[..., object]) -> Callable[..., object]:
        def call_soon_threadsafe(
            callback: Callable[..., object], *args: object, context: Context | None = None
        ) -> object:
            # a thread calls it with its result
            if callable(callback):
                callback = Late(self, callback, time.monotonic(), None)
            return inner(callback, *args, context=context)

        return call_soon_threadsafe

    def _call_later(self, inner: Callable[..., object]) -> Callable[..., object]:
        if native is not None:
            return native.Hiding("call_later", inner, self, self._with_due)  # type: ignore[no-any-return]

        def call_later(
            delay: object, callback: Callable[..., object], *args: object, context: Context | None = None
        ) -> object:
            # asyncio's calls `call_at` then
            clock = request_clock.get()
            if clock is not None and clock.steps is self:
                callback = self._with_due(callback, delay)
            if args or context is not None:
                return inner(delay, callback, *args, context=context)
            return inner(delay, callback)

        return call_later

    def _call_at(self, inner: Callable[..., object]) -> Callable[..., object]:
        if native is not None:
            return native.Hiding("call_at", inner, self, self._with_due_at)  # type: ignore[no-any-return]

        def call_at(
            when: Any, callback: Callable[..., object], *args: object, context: Context | None = None
        ) -> object:
            # uvloop's calls `call_later` then
            clock = request_clock.get()
            if clock is not None and clock.steps is self:
                callback = self._with_due_at(callback, when)
            return inner(when, callback, *args, context=context)

        return call_at

    def _with_due_at(self, callback: Callable[..., object], when: Any) -> Callable[..., object]:
        return self._with_due(callback, when - self.loop.time()) if isinstance(when, _NUMBERS) else callback

    def _with_due(self, callback: Callable[..., object], delay: object) -> Callable[..., object]:
        """The callback of a request's timer, which says when it was due."""
        if type(callback) is Late or not callable(callback) or not isinstance(delay, _NUMBERS):
            return callback  # the loop refuses what is no function, and a delay that is not a number
        # a timer that was early, and waits for the rest
        seconds = self.late.seconds if self.late is not None and self.late.callback == callback else delay
        return Late(self, callback, time.monotonic() + delay, seconds)


class _Hidden:
    """Attributes of a loop that hide its methods."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._before: dict[str, object] = {}
        self._ours: dict[str, object] = {}

    def put(self, ours: dict[str, Any]) -> None:
        """Hide methods.

        :raises AttributeError: the loop takes no attributes
        """
        before = vars(self._loop)
        self._before = {name: before.get(name, _ABSENT) for name in ours}
        self._ours = ours
        for name, hiding in ours.items():
            setattr(self._loop, name, hiding)

    def take_back(self) -> None:
        """Let the loop be as it was."""
        ours, self._ours = self._ours, {}
        for name, hiding in ours.items():
            if vars(self._loop).get(name) is not hiding:
                continue  # another attribute hides ours, and would be lost
            if self._before[name] is _ABSENT:
                delattr(self._loop, name)
            else:
                setattr(self._loop, name, self._before[name])


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
            if clock.tasks is not None:
                note_end(self.__self__, clock.tasks)

    def __repr__(self) -> str:
        return repr(self._run)


_STEPS = (_Step,) if native is None else (_Step, native.Step)
# agents may start and stop in several threads
_lock = threading.RLock()

if native is not None:
    native.configure_loop(request_clock=request_clock, task_type=asyncio.Task)
    native.configure_clock(
        times_type=SplitTimes,
        note_wait=note_wait_of,
        add_wait=add_wait_of,
        name_of_call=name_of_open_call,
        awaited_text=AwaitedTimes.text,
        current_task=asyncio.current_task,
        current=current,
    )
    native.configure_places(name_of_place=name_of_place, task_type=asyncio.Task)
