"""The internals of trio that are looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .frames import place_of
from .touched import Attribute, Function, Library, Local

LIBRARY = Library("trio", ">=0.27,<1")
MODULE = "trio._core._run"
INSTRUMENTS = "trio._core._instrumentation"
_MAX_SCOPES = 64
_MAX_FRAMES = 6
UNKNOWN: Any = object()
"""In the place of an outcome that cannot be seen."""

_EXITED = Function(LIBRARY, MODULE, "Runner.task_exited", "how a task ended")
_OUTCOME = Local(_EXITED, "outcome")
_CHILD_FINISHED = Function(LIBRARY, MODULE, "Nursery._nested_child_finished", "which tasks a nursery waits for")
NURSERY_WAITED_FOR = Local(_CHILD_FINISHED, "self")
_STATUS = Attribute(LIBRARY, f"{MODULE}:Task", "_cancel_status", "the scopes around a task")
_STATUS_OF_NURSERY = Attribute(LIBRARY, f"{MODULE}:Nursery", "_cancel_status", "the scopes around a nursery")
_SCOPE = Attribute(LIBRARY, f"{MODULE}:CancelStatus", "_scope", "the scopes around a task")
_PARENT = Attribute(LIBRARY, f"{MODULE}:CancelStatus", "_parent", "the scopes around a task")
# its public sister cancels a scope whose deadline has passed
_CANCEL_CALLED = Attribute(LIBRARY, f"{MODULE}:CancelScope", "_cancel_called", "which scope was cancelled")
REASON_OF_SCOPE = Attribute(
    LIBRARY, f"{MODULE}:CancelScope", "_cancel_reason", "why a scope was cancelled", versions=">=0.31"
)
PENDING_ERRORS = Attribute(LIBRARY, f"{MODULE}:Nursery", "_pending_excs", "how the body of a nursery failed")

_WORKER = Function(LIBRARY, "trio._threads", "to_thread_run_sync.worker_fn", "which request a worker thread works for")
CONTEXT_OF_WORK = Local(_WORKER, "context")
_NEXT_SEND = Attribute(LIBRARY, f"{MODULE}:Task", "_next_send_fn", "whether a task is ready")
_STEPS = Attribute(LIBRARY, f"{MODULE}:Task", "_schedule_points", "how many steps a task has made")
RUN_CONTEXT = "GLOBAL_RUN_CONTEXT"
"""Of the module: thread-local, with `runner` and `task`."""


def is_ready(task: Any) -> bool:
    """Whether a task waits for nothing but the loop."""
    return _NEXT_SEND.of(task) is not None


def steps_of(task: Any) -> int:
    """How many steps a task has made."""
    return int(_STEPS.of(task, 0))


def status_of(task: Any) -> Any:
    """An object for the scopes that are around a task now; another object, when they are others."""
    return _STATUS.of(task)


def scopes_around_task(status: Any) -> Iterator[tuple[Any, Any]]:
    """Statuses and their scopes, the innermost first. No public attribute has them."""
    for _ in range(_MAX_SCOPES):
        scope = _SCOPE.of(status)
        if scope is None:
            return
        yield status, scope
        status = _PARENT.of(status)


def scopes_around_nursery(nursery: Any) -> Iterator[Any]:
    """The scopes, the innermost first."""
    return (scope for _, scope in scopes_around_task(_STATUS_OF_NURSERY.of(nursery)))


def was_cancelled(scope: Any) -> bool:
    """Whether a scope was cancelled. Asking changes nothing."""
    return bool(_CANCEL_CALLED.of(scope, False))


def deadline_that_wakes(task: Any) -> float:
    """The earliest deadline of the cancelled scopes that reach a task; infinite where there is none."""
    deadline = math.inf
    for _, scope in scopes_around_task(status_of(task)):
        if was_cancelled(scope):
            deadline = min(deadline, scope.deadline)
        if scope.shield:
            break
    return deadline


def outcome_on_stack(frame: FrameType | None) -> Any:
    """The outcome of the task whose end trio reports now; UNKNOWN where that cannot be seen.

    :param frame: the innermost of those outside
    """
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        if place_of(frame) == _OUTCOME.place:
            return _OUTCOME.of(frame, UNKNOWN)
        frame = frame.f_back
    return UNKNOWN
