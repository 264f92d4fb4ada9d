"""The sampler of one profile task: a thread that looks, every period, where the requests of one endpoint are.

It lives as long as its task. Meanwhile each request says that it has come, and in which task and thread. Which endpoint
it is for is known once a route has taken it: so the sampler asks again at each look, and makes the span of a request
that it is to follow. Every other one goes its way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..agent_log import RateLimitedLog
from ..inspection.loop_view import LoopView, view_of_this_loop
from ..record.snapshot import ProfileSnapshot
from ..record.trace.outcome import running_task
from ..system_thread import Flag, SystemThread
from .profile_task import ProfileTask
from .request_stacks import Followed, Request, look
from .snapshot_series import SnapshotSeries

_MAX_WAITING = 10_000
_limited = RateLimitedLog()


class Limits(NamedTuple):
    """The limits of the settings."""

    requests: int
    """How many are followed at the same time."""
    depth: int
    """Frames of a stack."""
    seconds: float
    """For which a request is followed."""


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
        self._waiting: dict[Request, tuple[object, int]] = {}
        self._followed: list[Followed] = []
        self._views: dict[int, LoopView] = {}
        self._left = task.samples
        self._stopped = Flag()
        self._thread = SystemThread(self._run, "swagent-profile")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and send what is kept back. A second call does nothing."""
        self._stopped.set()
        if not self._thread.is_this():
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
        except Exception as error:  # noqa: BLE001, RUF100  (a loop of a foreign class)
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
                    look(self._followed, self._views, self._limits.depth)
                    self._let_go()
            except Exception as error:  # noqa: BLE001, RUF100  (what it looks at moves, and is no public interface)
                _limited.warn("profile", "a profile lacks a look at its requests: %r", error)
            if self._left <= 0 and not self._followed:
                self._is_over()
                return
        for each in self._followed:
            each.snapshots.flush()

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

    def _follow(self, request: Request, task: object, thread: int, name: str) -> None:
        span = request.to_span()
        # asked for, so that its root stays in this segment
        reference = span.reference() if span is not None else None
        if span is None or reference is None:
            return  # it has just ended, or its trace is not recorded
        began = int(span.start_time * 1000)
        snapshots = SnapshotSeries(self._task.id, reference.segment_id, began, name, self._offer)
        self._left -= 1
        self._followed.append(Followed(request, task, thread, span.segment, snapshots))

    def _let_go(self) -> None:
        now = time.monotonic()
        for each in [*self._over(now)]:
            each.snapshots.flush()
            self._followed.remove(each)

    def _over(self, now: float) -> Iterator[Followed]:
        for each in self._followed:
            if each.request.ended or now - each.request.start_time >= self._limits.seconds:
                yield each
