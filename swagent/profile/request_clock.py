"""The clock of one request, with the names of what it awaits and, where they are to be listed, its tasks."""

from __future__ import annotations

from collections.abc import Awaitable
from contextvars import ContextVar
from types import CoroutineType
from typing import Any, Protocol

from ..inspection.garbage_time import garbage_time
from ..record.bounded_cache import BoundedCache
from ..record.limits import short
from ..record.trace.context import current
from ..record.trace.outcome import running_task
from .awaited import MAX_NAME, OTHER, AwaitedTimes, name_of_wait, quoted
from .light_clock import LightClock
from .request_tasks import RequestTasks
from .stacks import call_of
from .wait_names import name_of_chain


class Steps(Protocol):
    """Reports the steps of the tasks of one loop to their clocks."""

    @property
    def loop(self) -> object:
        """The loop; None: it is none of asyncio's."""
        ...

    def is_here(self) -> bool:
        """Whether they are those of the loop that runs now."""
        ...

    def keep(self) -> None:
        """One agent more: the steps of this loop are these."""
        ...

    def let_go(self) -> None:
        """One agent less."""
        ...

    def enter(self) -> None:
        """Begin to report, for one user more: an agent, or a clock."""
        ...

    def leave(self) -> None:
        """One user less. Without any nothing is reported, and the loop is as it was."""
        ...

    def follow_tasks(self) -> None:
        """One request more whose tasks are listed."""
        ...

    def leave_tasks(self) -> None:
        """One less."""
        ...


class RequestClock(LightClock):
    """It holds nothing of the request once it has stopped: contexts outlive their requests.

    :ivar tasks: the request's, where they are listed; None after the end
    :ivar own: the identity of the request's own task, once it has waited
    :ivar is_woken: whether the own task is ready for a step
    """

    __slots__ = (
        "_active",
        "_awaited",
        "_inner",
        "_is_out",
        "_is_user",
        "_more",
        "_thrown_into",
        "is_woken",
        "own",
        "tasks",
    )

    def __init__(
        self, awaitable: Awaitable[object], steps: Steps, now: float, tasks: RequestTasks | None, *, is_user: bool
    ) -> None:
        """Begins to count, within a step of the request's own task. This context holds it.

        :param awaitable: the application's coroutine
        :param now: the monotonic time at which the request began
        :param tasks: those of the request, where they are to be listed
        :param is_user: whether the steps are reported for this clock
        """
        # as `LightClock` does, without the call
        self.steps = steps
        self.is_open = False
        self._last = now
        self._collected_before = garbage_time.spent
        # not by `__await__`, whose wrapper hides what it awaits
        self._inner: Any = awaitable if type(awaitable) is CoroutineType else Iterated(awaitable.__await__())
        self.tasks = tasks
        if is_user or tasks is not None:
            self.open()
            self._is_user = is_user
            if is_user:
                steps.enter()
            if tasks is not None:
                steps.follow_tasks()
        request_clock.set(self)

    def open(self) -> None:
        """As `LightClock`."""
        LightClock.open(self)
        self.own = self._thrown_into = 0
        self.is_woken = self._is_out = self._is_user = False
        # what is active in the own task while it waits
        self._active: Any = None
        self._awaited: AwaitedTimes | None = None
        self._more: tuple[tuple[str, str], ...] = ()

    def suspend(self) -> None:
        """The step of the request's own task ends, and the task will go on."""
        if not self.is_open:
            self.open()
        self._is_out = True
        if self.steps is not None:
            if not self.own:
                self.own = id(running_task())
            self._active = current.get()
            self.end()

    def resume(self) -> None:
        """The next step of the request's own task begins."""
        self._is_out = False
        if self.steps is not None:
            if self.is_woken:
                self.is_woken = False
                self.begin_woken()
            else:
                self.begin()

    def note_wait(self, seconds: float) -> None:
        """As `LightClock`. An error costs the name only."""
        try:
            name = self._name()
        except Exception:  # noqa: BLE001, RUF100  (coroutines of a foreign class)
            name = OTHER
        if self._awaited is None:
            self._awaited = AwaitedTimes()
        self._awaited.add(seconds, name)

    def _name(self) -> str:
        if self.tasks is not None:
            return short(name_of_wait(self.tasks), MAX_NAME)
        name = call_of(self._active)
        return short(name, MAX_NAME) if name else name_of_chain(self._inner)

    def settle(self) -> str:
        """As `LightClock`. It lets go of the request."""
        awaited = self._awaited.text(self._awaiting) if self._awaited is not None else ""
        self._active = self._awaited = None
        if self.tasks is not None:
            self._more, self.tasks = self.tasks.tags(), None
            self.steps.leave_tasks()
        if self._is_user:
            self.steps.leave()
        return awaited

    def more_tags(self) -> tuple[tuple[str, str], ...]:
        """The tasks, where they are listed."""
        return self._more if self.is_open else ()

    def throws_here(self) -> bool:
        """Whether an exception is being thrown into the request's own task, and this is that task."""
        return self.is_open and self._thrown_into != 0 and self._thrown_into == id(running_task())


class Iterated:
    """An iterator that is no coroutine, as one. It lets go of the iterator at the end: contexts outlive their requests,
    and the clock with them. A coroutine that has ended holds nothing."""

    __slots__ = ("_iterator",)

    def __init__(self, iterator: Any) -> None:
        self._iterator: Any = iterator

    def send(self, value: object) -> object:
        step = getattr(self._iterator, "send", None)
        try:
            return next(self._iterator) if step is None else step(value)
        except BaseException:
            self._iterator = None
            raise
        finally:
            del value  # as in `throw`

    def throw(self, *error: Any) -> object:
        try:
            step = getattr(self._iterator, "throw", None)
            if step is None:
                # as `await` does
                raise error[0]
            return step(*error)
        except BaseException:
            self._iterator = None
            raise
        finally:
            del error  # or it and this frame would hold each other

    def close(self) -> None:
        iterator: Any = self._iterator
        self._iterator = None
        if hasattr(iterator, "close"):
            iterator.close()

    def __getattr__(self, name: str) -> object:
        return getattr(object.__getattribute__(self, "_iterator"), name)


request_clock: ContextVar[RequestClock | None] = ContextVar("swagent_request_clock", default=None)
"""Tasks inherit it from those that begin them."""


def note_wait_of(clock: Any, seconds: float) -> None:
    """As `RequestClock.note_wait`, of a clock of the accelerator."""
    try:
        name = call_of(clock.active)
        name = short(name, MAX_NAME) if name else name_of_chain(clock.inner)
    except Exception:  # noqa: BLE001, RUF100  (coroutines of a foreign class)
        name = OTHER
    add_wait_of(clock, seconds, name)


def name_of_open_call(active: Any) -> tuple[str, str] | None:
    """The call that is under way and names a wait, and the same as JSON has it; None: there is none.

    :param active: in the task that waits
    """
    name = call_of(active)
    return _NAMED[name] if name else None


def add_wait_of(clock: Any, seconds: float, name: str) -> None:
    """Add a wait that has a name, to a clock of the accelerator."""
    if clock.awaited is None:
        clock.awaited = AwaitedTimes()
    clock.awaited.add(seconds, name)


def _name(call: str) -> tuple[str, str]:
    name = short(call, MAX_NAME)
    return name, quoted(name)


_NAMED = BoundedCache(_name)
