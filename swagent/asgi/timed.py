"""The application as the middleware calls it when the time of requests is split: of each request, or of some."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..config import Config
from ..profile.request_clock import Steps, request_clock
from ..profile.request_tasks import RequestTasks
from ..profile.timed_steps import TimedSteps, running_loop
from ..record.trace.outcome import running_task
from ..request.faults import Faults
from ..request.pending import PendingRequest
from .lifespan import App, Receive, Scope, Send

Served = Callable[[PendingRequest, Scope, Receive, Send], Awaitable[Any]]


def splits_every(config: Config) -> int:
    """In so many requests of the running loop the time of one is split."""
    return config.splits_every(on_trio=running_loop() is None)


def timed(
    app: App,
    every: int,
    tasks_every: int,
    steps_here: Callable[[], Steps | None],
    faults: Faults,
    *,
    is_each: bool | None = None,
) -> Served:
    """The application, with the time of requests split. It adds no coroutine.

    A closure and not a callable object, because a call costs a third. A websocket is not timed: it lives long, and
    mostly waits.

    :param every: in so many requests the time of one is split
    :param tasks_every: in so many of those the tasks of one are listed; 0: of none
    :param is_each: whether the agent splits the time of each request, if `every` does not say so
    :param steps_here: the steps of the running loop, to be reported from now on; None: the agent has stopped
    """
    known: Steps | None = None
    left = 0
    # the first request pays for the start already
    tasks_left = tasks_every - 1 if tasks_every else 0
    is_user = not (every == 1 if is_each is None else is_each)

    def serve(request: PendingRequest, scope: Scope, receive: Receive, send: Send) -> Awaitable[Any]:
        nonlocal known, left, tasks_left
        steps = tasks = None
        left -= 1
        if left < 0 and scope["type"] == "http":
            outer = request_clock.get()
            # inside of another request that is timed, its time is that one's
            if outer is None or outer.steps is None:
                left = every - 1
                try:
                    loop, steps = running_loop(), known
                    if steps is None or (steps.loop is not loop if loop is not None else not steps.is_here()):
                        steps = known = steps_here()
                    tasks_left -= 1
                    if tasks_left < 0:
                        tasks, receive, tasks_left = _list_tasks(request, receive, tasks_every)
                except Exception as error:  # noqa: BLE001, RUF100  (an unusual loop; it costs no request)
                    steps = None
                    faults.note("timing a request", error)
        served = app(scope, receive, send)
        if steps is None:
            return served
        try:
            clock = request.clock = TimedSteps(served, steps, request.start_time, tasks, is_user=is_user)
        except Exception as error:  # noqa: BLE001, RUF100  (an unusual awaitable, as above)
            faults.note("timing a request", error)
            return served
        return clock

    return serve


_NEVER = 2**62


def _list_tasks(request: PendingRequest, receive: Receive, every: int) -> tuple[RequestTasks | None, Receive, int]:
    """The tasks of a request, if it is recorded; its `receive`; and how many requests are next whose tasks are not
    listed."""
    span = request.to_span() if every else None
    if span is None or not span.is_recorded:
        return None, receive, every - 1 if every else _NEVER
    tasks = RequestTasks(running_task())
    span.name_tasks_by(tasks.name_task)
    return tasks, tasks.follow(receive), every - 1
