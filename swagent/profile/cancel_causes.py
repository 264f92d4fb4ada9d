"""The cause of a cancellation on asyncio: it is on the stack while the task is woken by that.

A cancellation carries no cause of its own. But timeouts, groups and scopes call it from functions that are known, and
the details are in these: the group has the task that failed, the timer has its deadline.
"""

from __future__ import annotations

import asyncio
from types import FrameType
from typing import Any

from ..inspection import anyio_inside, asyncio_inside
from ..inspection.frames import is_own, outer_frame, place_of
from ..inspection.touched import Place
from .request_tasks import RequestTasks
from .task_record import FAILED, TaskRecord, deadline_text, kind_of

_MAX_FRAMES = 24
_PASSED = frozenset({anyio_inside.MODULE, "asyncio.taskgroups", "asyncio.tasks", "asyncio.base_events",
                     "asyncio.events", "asyncio.futures"})  # fmt: skip
_DEADLINES = {
    each.place: each for each in (asyncio_inside.ON_TIMEOUT, asyncio_inside.ON_ASYNC_TIMEOUT, anyio_inside.ON_TIMEOUT)
}
_SIBLINGS = {each.place: each for each in (asyncio_inside.ENDED_IN_GROUP, anyio_inside.ENDED_IN_GROUP)}
_BODIES = {each.place: each for each in (asyncio_inside.ERROR_OF_BODY, anyio_inside.ERROR_OF_BODY)}


def cause_of(tasks: RequestTasks, seconds: float | None) -> str:
    """Why a task is cancelled now; empty: it is not known.

    :param seconds: how long the timer ran that calls now, if one does
    """
    frame = outer_frame()
    scope = None
    cause = ""
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        place = place_of(frame)
        if place == anyio_inside.CANCELLING_SCOPE.place:
            scope = anyio_inside.CANCELLING_SCOPE.of(frame, scope)
        cause = _cause_in(place, frame, tasks, seconds)
        if cause:
            break
        if place[0] not in _PASSED and not is_own(place):
            break
        frame = frame.f_back
    cause = cause or _by_call(scope, tasks)
    if scope is not None and cause:
        tasks.note_scope(scope, cause)
    return cause


def _cause_in(place: Place, frame: FrameType, tasks: RequestTasks, seconds: float | None) -> str:
    """The cause that this function shows; empty: none."""
    if place in _DEADLINES and _DEADLINES[place].library.is_known:
        return deadline_text(seconds)
    if place in _SIBLINGS:
        return _by_sibling(_SIBLINGS[place].of(frame), tasks)
    if place in _BODIES:
        error = _BODIES[place].of(frame)
        if error is not None and not isinstance(error, asyncio.CancelledError):
            return f"the body of its group failed: {kind_of(error)}"
        return _by_parent(tasks)
    if place == asyncio_inside.WAIT_FOR_WAITER.place:
        waiter: Any = asyncio_inside.WAIT_FOR_WAITER.of(frame)
        timeout: Any = asyncio_inside.WAIT_FOR_TIMEOUT.of(frame)
        return _by_parent(tasks) if waiter is not None and waiter.cancelled() else deadline_text(timeout)
    return ""


def _by_sibling(task: object, tasks: RequestTasks) -> str:
    """The end of this task, which has just ended, cancelled its group."""
    record = tasks.find_ended(task)
    return record.failure() if record is not None and record.outcome == FAILED else ""


def _by_parent(tasks: RequestTasks) -> str:
    """The task that runs now hands its own cancellation on."""
    record = _record_here(tasks)
    return record.cancellation() if record is not None else ""


def _by_call(scope: object, tasks: RequestTasks) -> str:
    """The task that runs now calls for it; or a scope of anyio's tries once more, or another callback of the loop's
    calls for it, and behind these there is none."""
    if asyncio.current_task() is None:
        return _known_of(scope, tasks) if scope is not None else "cancel() by a callback of the loop"
    record = _record_here(tasks)
    return record.cancel_call() if record is not None else "cancel() from outside of the request"


def _record_here(tasks: RequestTasks) -> TaskRecord | None:
    return tasks.find_running(asyncio.current_task())


def _known_of(scope: object, tasks: RequestTasks) -> str:
    """Why a scope of anyio's was cancelled that tries once more."""
    known = tasks.scope_causes.get(id(scope))
    if known is not None:
        return known[1]
    reason = anyio_inside.REASON_OF_SCOPE.of(scope)
    is_deadline = isinstance(reason, str) and reason.endswith(anyio_inside.REASON_DEADLINE)
    return deadline_text(None) if is_deadline else ""
