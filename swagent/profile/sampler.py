"""The sampler of one profile task: a thread that looks, every period, where the requests of one endpoint are.

It lives as long as its task. Meanwhile each request says that it has come, and in which task and thread. Which endpoint
it is for is known once a route has taken it: so the sampler asks again at each look, and makes the span of a request
that it is to follow. Every other one goes its way.

A request has the task or thread that it came in, and those that were begun in its context: other tasks, and threads of
pools. Each shows under its own name.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import Context
from types import FrameType
from typing import Any, NamedTuple, Protocol

from ..agent_log import RateLimitedLog
from ..record.snapshot import ProfileSnapshot
from ..record.trace.context import active_span, current
from ..record.trace.outcome import name_of_task, running_task
from .executor_threads import context_of_work
from .loop_view import LoopView, context_of, view_of_this_loop
from .profile_task import ProfileTask
from .stacks import task_stack, thread_stack
from .trail import Trail

_MAX_WAITING = 10_000
# A loop or a process with more of them is not searched: that would take longer than a period.
_MAX_TASKS = 5_000
_MAX_THREADS = 500
_limited = RateLimitedLog()


class Request(Protocol):
    """A request while it is served."""

    start_time: float
    """By the monotonic clock."""

    @property
    def ended(self) -> bool: ...

    def operation(self) -> tuple[str, bool]:
        """Its operation's name, and whether no later one is to come."""
        ...

    def to_span(self) -> Any: ...


class Limits(NamedTuple):
    """What the settings allow."""

    requests: int
    """How many are followed at the same time."""
    depth: int
    """Frames of a stack."""
    seconds: float
    """For which a request is followed."""


class _Followed(NamedTuple):
    request: Request
    task: Any
    thread: int
    segment: Any
    trail: Trail


class Sampler:
    """Samples from `start` until `stop`."""

    def __init__(
        self,
        task: ProfileTask,
        limits: Limits,
        offer: Callable[[ProfileSnapshot], object],
        is_over: Callable[[], object],
    ) -> None:
        """
        :param is_over: called in the sampler's thread when all requests that the task asks for are through
        """
        self._task = task
        self._limits = limits
        self._offer = offer
        self._is_over = is_over
        self._waiting: dict[Request, tuple[Any, int]] = {}
        self._followed: list[_Followed] = []
        self._views: dict[int, LoopView] = {}
        self._left = task.samples
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="swagent-profile", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and send what is kept back. A second call does nothing."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def note(self, request: Request) -> None:
        """A request has come, in this task and thread. Never raises."""
        if self._left <= 0 or len(self._waiting) >= _MAX_WAITING:
            return
        thread = threading.get_ident()
        try:
            task = running_task()
            if task is not None and thread not in self._views:
                self._views[thread] = view_of_this_loop()
        except Exception as error:  # noqa: BLE001, RUF100  (a loop of somebody's own making)
            _limited.warn("profile", "a request on this event loop cannot be profiled: %r", error)
            return
        self._waiting[request] = (task, thread)

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        period = self._task.period
        due = time.monotonic()
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            # a look that came late is not made up for
            due = max(due + period, time.monotonic())
            try:
                self._choose()
                if self._followed:
                    self._look()
                    self._let_go()
            except Exception as error:  # noqa: BLE001, RUF100  (what it looks at moves, and is nobody's public interface)
                _limited.warn("profile", "a profile lacks a look at its requests: %r", error)
            if self._left <= 0 and not self._followed:
                self._is_over()
                return
        for each in self._followed:
            each.trail.flush()

    def _choose(self) -> None:
        """Follow the requests that turn out to be of the endpoint, and forget all others."""
        for request, (task, thread) in [*self._waiting.items()]:
            if request.ended or self._left <= 0:
                del self._waiting[request]
                continue
            name, is_settled = request.operation()
            if name != self._task.endpoint:
                if is_settled:
                    del self._waiting[request]
            elif time.monotonic() - request.start_time >= self._task.min_duration:
                del self._waiting[request]
                if len(self._followed) < self._limits.requests:
                    self._follow(request, task, thread, name)

    def _follow(self, request: Request, task: Any, thread: int, name: str) -> None:
        span = request.to_span()
        # asked for, so that its root stays in this segment
        reference = span.reference() if span is not None else None
        if span is None or reference is None:
            return  # it has just ended, or its trace is not recorded
        began = int(span.start_time * 1000)
        trail = Trail(self._task.id, reference.segment_id, began, name, self._offer)
        self._left -= 1
        self._followed.append(_Followed(request, task, thread, span.segment, trail))

    def _look(self) -> None:
        owners: dict[int, _Followed] = {}
        for each in self._followed:
            owners[id(each.request)] = owners[id(each.segment)] = each
        for view in self._views.values():
            if view.is_run():
                self._look_at_tasks(view, owners)
        self._look_at_threads(owners)
        for each in self._followed:
            each.trail.end_round()

    def _look_at_tasks(self, view: LoopView, owners: dict[int, _Followed]) -> None:
        running = view.running()
        others = itertools.islice((task for task in view.tasks() if task is not running), _MAX_TASKS)
        # the running one first: it runs on while we look at the others
        for task in [*([running] if running is not None else []), *others]:
            context = context_of(task)
            owner = _owner(context, owners)
            if owner is None or context is None:
                continue
            stack = task_stack(view, task, context, self._limits.depth)
            if stack:
                name = "" if task is owner.task else f" / task {name_of_task(task)}"
                owner.trail.add(id(task), _now(), (owner.trail.name + name, *stack))

    def _look_at_threads(self, owners: dict[int, _Followed]) -> None:
        frames = sys._current_frames()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        own = {each.thread: each for each in self._followed if each.task is None}
        for thread, frame in itertools.islice(frames.items(), _MAX_THREADS):
            owner = own.get(thread)
            name = ""
            if owner is None and thread not in self._views:
                owner = _owner(context_of_work(frame), owners)
                name = " / thread"
            if owner is not None:
                self._add_thread(owner, thread, name, frame)

    def _add_thread(self, owner: _Followed, thread: int, name: str, frame: FrameType) -> None:
        stack = thread_stack(frame, self._limits.depth)
        owner.trail.add(thread, _now(), (owner.trail.name + name, *stack))

    def _let_go(self) -> None:
        now = time.monotonic()
        for each in [*self._over(now)]:
            each.trail.flush()
            self._followed.remove(each)

    def _over(self, now: float) -> Iterator[_Followed]:
        for each in self._followed:
            if each.request.ended or now - each.request.start_time >= self._limits.seconds:
                yield each


def _owner(context: Context | None, owners: dict[int, _Followed]) -> _Followed | None:
    """The request that is served in a context."""
    entry: Any = active_span(context.get(current)) if context is not None else None
    if entry is None:
        return None
    segment = getattr(entry, "segment", None)
    return owners.get(id(entry)) or (owners.get(id(segment.home)) if segment is not None else None)


def _now() -> int:
    return int(time.time() * 1000)
