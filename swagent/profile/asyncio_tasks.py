"""The tasks of a request on asyncio: when one begins, is cancelled, and ends.

Nothing is hung on a task for that, and nothing is asked of it that would count as looking at its outcome: asyncio
reports exceptions that were never looked at.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextvars import Context
from typing import Any

from ..inspection import asyncio_inside
from ..inspection.frames import outer_frame
from .cancel_causes import cause_of
from .request_clock import RequestClock, request_clock
from .request_tasks import RequestTasks
from .task_groups import asyncio_group
from .task_record import CANCELLED, DONE, FAILED, TaskRecord, kind_of, never_raising

# of each step of each task, so these are read at once
_WAITER, _ERROR = asyncio_inside.WAITER_OF_TASK.name, asyncio_inside.ERROR_OF_TASK.name


@never_raising
def note_wake(task: object, tasks: RequestTasks, seconds: float | None) -> None:
    """A task is given to the loop for a step: perhaps its first, perhaps one in which it is cancelled.

    :param seconds: how long the timer ran that calls now, if one does
    """
    record = tasks.find(task)
    if record is None:
        _note_begin(task, tasks)
        return
    # where it cannot be seen, no cause is given
    waiter = getattr(task, _WAITER, None)
    if waiter is not None and asyncio.isfuture(waiter) and waiter.cancelled():
        pending = cancellations_of(task)
        awaited = tasks.find(waiter) or tasks.find_ended(waiter)
        if awaited is None:
            record.cancelled_by = cause_of(tasks, seconds)
        elif pending:
            record.cancelled_by = awaited.cancelled_by
        else:  # this one itself was not cancelled, or Python 3.10 does not report it
            record.cancelled_by = f"task {awaited.id} was cancelled"
        record.cancellations = pending or 0


def _note_begin(task: object, tasks: RequestTasks) -> None:
    if _is_new(task):
        parent = asyncio.current_task()
        kind, group = asyncio_group(outer_frame())
        tasks.begin(task, parent, tasks.group(kind, group))


def _is_new(task: Any) -> bool:
    """Whether it has not run yet. One that has was begun before it could be seen, so little is known of it."""
    try:
        return inspect.getcoroutinestate(task.get_coro()) == inspect.CORO_CREATED
    except AttributeError:  # no coroutine of Python's
        return False


@never_raising
def note_end(task: Any, tasks: RequestTasks) -> None:
    """A step is over; perhaps it was the task's last."""
    record = tasks.find(task)
    if record is None or record is tasks.own or not task.done():
        return
    if task.cancelled():
        tasks.end(record, CANCELLED, _pending_cause(record, task))
        return
    error = getattr(task, _ERROR, None)
    tasks.end(record, DONE if error is None else FAILED, "" if error is None else kind_of(error))


def _pending_cause(record: TaskRecord, task: object) -> str:
    """The cause of its cancellation, unless the cancellation was taken back since."""
    pending = cancellations_of(task)
    return record.cancelled_by if pending is None or pending >= record.cancellations else ""


def cancellations_of(task: object) -> int | None:
    """How many cancellations of a task are pending; None: Python 3.10 does not count them."""
    ask = getattr(task, "cancelling", None)
    return int(ask()) if ask is not None else None


def create_seen(
    create_task: Callable[..., object], loop: asyncio.AbstractEventLoop, coroutine: object, options: dict[str, Any]
) -> object:
    """Make a task that may run before it is known: an eager one.

    :param create_task: the loop's
    """
    record = _announced(loop, options)
    if record is None:
        return create_task(coroutine, **options)
    tasks, task = record[0], None
    try:
        task = create_task(coroutine, **options)
    finally:
        tasks.arrive(record[1], task)
    note_end(task, tasks)
    return task


@never_raising
def _announced(loop: asyncio.AbstractEventLoop, options: dict[str, Any]) -> tuple[RequestTasks, TaskRecord] | None:
    clock = request_clock.get()
    tasks = clock.tasks if clock is not None and _is_of(options.get("context"), clock) else None
    if tasks is None or not _may_be_eager(loop, options):
        return None
    kind, group = asyncio_group(outer_frame())
    record = tasks.announce(asyncio.current_task(), tasks.group(kind, group))
    return (tasks, record) if record is not None else None


def _is_of(context: Context | None, clock: RequestClock) -> bool:
    return context is None or context.get(request_clock) is clock


def _may_be_eager(loop: asyncio.AbstractEventLoop, options: dict[str, Any]) -> bool:
    return bool(options.get("eager_start")) or loop.get_task_factory() is not None
