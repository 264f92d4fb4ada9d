"""The tasks of a request on trio: when one begins and ends, and what cancelled it.

trio calls its instruments when a task begins and ends. How a task ended is on the stack then. The reason of its
cancellation is in the exception from trio's version 0.31 on; before that, in the scopes around it.
"""

from __future__ import annotations

import math
from typing import Any

import trio

from ..inspection import trio_inside
from ..inspection.frames import outer_frame
from ..inspection.trio_inside import outcome_on_stack, scopes_around_nursery, scopes_around_task, was_cancelled
from ..record.trace.outcome import leaves_of
from .request_tasks import RequestTasks
from .task_groups import trio_group
from .task_record import CANCELLED, DONE, FAILED, TaskRecord, deadline_text, duration, kind_of, never_raising

# Of how long a scope was to last: a step takes its time.
_DIGITS = 2
_OTHER_SOURCES = {"shutdown": "the end of trio's run", "KeyboardInterrupt": "KeyboardInterrupt"}


@never_raising
def note_spawned(task: trio.lowlevel.Task, tasks: RequestTasks) -> None:
    """A task is there, and will run."""
    nursery = task.parent_nursery
    parent = trio.lowlevel.current_task()
    record = tasks.find(parent)
    if record is None and nursery is not None:
        parent = nursery.parent_task
    kind, group = trio_group(outer_frame(), nursery)
    tasks.begin(task, parent, tasks.group(kind, group))
    for each in (tasks.find(task), record):
        if each is not None and not each.text:
            # causes name tasks by it
            each.text = repr(each.task()) if each.task is not None else ""


@never_raising
def note_exited(task: trio.lowlevel.Task, tasks: RequestTasks) -> None:
    """A task has ended."""
    record = tasks.find(task)
    if record is None or record is tasks.own:
        return
    outcome = outcome_on_stack(outer_frame())
    if outcome is trio_inside.UNKNOWN:
        tasks.end(record, None)
        return
    error = getattr(outcome, "error", None)
    cancelled = [each for each in leaves_of(error) if isinstance(each, trio.Cancelled)] if error is not None else []
    if error is None:
        tasks.end(record, DONE)
    elif cancelled and len(cancelled) == len(leaves_of(error)):
        tasks.end(record, CANCELLED, _cause_of(task, cancelled[0], tasks))
    else:
        tasks.end(record, FAILED, kind_of(error))


@never_raising
def note_step(task: trio.lowlevel.Task, tasks: RequestTasks, began: float) -> None:
    """A step is over, in which the task may have come into scopes with deadlines. How long these were to last is said
    if it comes to the same wherever in the step they began.

    :param began: when the step did, by trio's clock
    """
    record = tasks.find(task)
    status = trio_inside.status_of(task)
    if record is None or status is record.status:
        return
    now = trio.current_time()
    for each, scope in scopes_around_task(status):
        if each is record.status or id(scope) in tasks.deadlines:
            break
        deadline = scope.deadline
        if deadline < math.inf:
            longest, shortest = (duration(deadline - since, _DIGITS) for since in (began, now))
            tasks.note_deadline(scope, deadline, longest if longest == shortest else "")
    record.status = status


def _cause_of(task: trio.lowlevel.Task, error: trio.Cancelled, tasks: RequestTasks) -> str:
    """The cause of a task's cancellation; empty: it is not known."""
    nursery = task.parent_nursery
    reason: Any = error
    if getattr(error, "source", None) == "unknown" and nursery is not None:
        # as anyio makes them of several; the scope around the task has the cause of its own cancellation
        reason = trio_inside.REASON_OF_SCOPE.of(nursery.cancel_scope)
    source = getattr(reason, "source", None)
    by = tasks.by_text(getattr(reason, "source_task", None) or "")
    if source == "deadline":
        return _deadline_around(task, tasks)
    if source == "explicit":
        return by.cancel_call() if by is not None else "cancel() from outside of the request"
    if source == "nursery":
        return _by_nursery(by, nursery)
    return _OTHER_SOURCES.get(source, "") if source is not None else _by_scopes(task, tasks)


def _by_nursery(by: TaskRecord | None, nursery: trio.Nursery | None) -> str:
    """A nursery cancels the others when one of its tasks has failed, or the code that opened it."""
    if by is None or by.outcome is not None:
        return by.failure() if by is not None and by.outcome == FAILED else ""
    text = "the body of its group failed"
    if nursery is None or not by.is_of(nursery.parent_task):
        return text
    pending = [each for each in trio_inside.PENDING_ERRORS.of(nursery, ()) if not isinstance(each, trio.Cancelled)]
    return f"{text}: {kind_of(pending[0])}" if pending else text


def _by_scopes(task: trio.lowlevel.Task, tasks: RequestTasks) -> str:
    """As the scopes around it say: one whose deadline has passed, or whose nursery has a task that failed."""
    nursery = task.parent_nursery
    failed = tasks.failed_in(nursery)
    if failed is not None and nursery is not None and was_cancelled(nursery.cancel_scope):
        return failed.failure()
    return _deadline_around(task, tasks)


def _deadline_around(task: trio.lowlevel.Task, tasks: RequestTasks) -> str:
    """The nearest scope around a task whose deadline has passed."""
    nursery = task.parent_nursery
    for scope in scopes_around_nursery(nursery):
        deadline = scope.deadline
        if was_cancelled(scope) and deadline <= trio.current_time():
            known = tasks.deadlines.get(id(scope))
            text = known[2] if known is not None and known[1] == deadline else ""
            return f"deadline of {text}" if text else deadline_text(None)
        if scope.shield:
            break
    return ""
