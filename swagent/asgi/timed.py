"""The application as the middleware calls it when the time of requests is split: of each request, or of some."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from ..profile.request_clock import request_clock
from ..profile.request_tasks import RequestTasks
from ..profile.timed_steps import TimedSteps, steps_here
from ..record.trace.context import current
from ..record.trace.outcome import running_task
from ..request.faults import Faults
from ..request.pending import PendingRequest
from ..request.span import RequestSpan
from .lifespan import App, Receive, Scope, Send


def timed(app: App, every: int, faults: Faults) -> App:
    """The application, with one request in so many timed; 0: as it is."""
    if isinstance(app, TimedApp):
        app = app.app
    return TimedApp(app, every, faults) if every else app


class TimedApp:
    """It adds no coroutine: a request that is not timed pays for one call."""

    def __init__(self, app: App, every: int, faults: Faults) -> None:
        self.app = app
        self._every = every
        self._left = 1
        self._faults = faults

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[Any]:
        """Serve one scope. A websocket is not timed: it lives long, and mostly waits."""
        if scope["type"] == "http":
            self._left -= 1
            if self._left <= 0:
                self._left = self._every
                return self._time(scope, receive, send)
        return self.app(scope, receive, send)

    def _time(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[Any]:
        span = tasks = None
        try:
            span = _span_to_time()
            if span is not None:
                tasks = RequestTasks(running_task())
                receive = tasks.follow(receive)
        except Exception as error:  # noqa: BLE001, RUF100  (an unusual loop; it costs no request)
            self._faults.note("timing a request", error)
        served = self.app(scope, receive, send)
        if span is None or tasks is None:
            return served
        try:
            steps = TimedSteps(served, steps_here(), tasks)
            span.time_by(steps.clock, tasks.name_task)
        except Exception as error:  # noqa: BLE001, RUF100  (as above)
            self._faults.note("timing a request", error)
            return served
        return steps


def _span_to_time() -> RequestSpan | None:
    """The span of the request that begins here, if it is recorded, and not inside of one that is timed."""
    outer = request_clock.get()
    request = current.get()
    if (outer is not None and outer.steps is not None) or not isinstance(request, PendingRequest):
        return None
    span = request.to_span()
    return span if span is not None and span.is_recorded else None
