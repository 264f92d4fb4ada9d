"""The internals of anyio's groups and scopes on asyncio that are looked at. On trio they are trio's."""

from __future__ import annotations

from .touched import Attribute, Function, Library, Local

LIBRARY = Library("anyio", ">=4.10,<5")
MODULE = "anyio._backends._asyncio"
TRIO_MODULE = "anyio._backends._trio"

ON_TIMEOUT = Function(LIBRARY, MODULE, "CancelScope._timeout", "that a scope's deadline cancelled a task")
_DELIVER = Function(LIBRARY, MODULE, "CancelScope._deliver_cancellation", "which scope cancels a task")
CANCELLING_SCOPE = Local(_DELIVER, "origin")
_SPAWN = Function(LIBRARY, MODULE, "TaskGroup._spawn", "that a group began a task")
GROUP_OF_NEW_TASK = Local(_SPAWN, "self")
_TASK_DONE = Function(LIBRARY, MODULE, "TaskGroup._spawn.task_done", "which task of a group cancelled the others")
ENDED_IN_GROUP = Local(_TASK_DONE, "_task")
_EXIT = Function(LIBRARY, MODULE, "TaskGroup.__aexit__", "that the body of a group failed")
ERROR_OF_BODY = Local(_EXIT, "exc_val")
GROUP_WAITED_FOR = Local(_EXIT, "self")

HOST_OF_SCOPE = Attribute(LIBRARY, f"{MODULE}:CancelScope", "_host_task", "which task waits for a group")
REASON_OF_SCOPE = Attribute(
    LIBRARY, f"{MODULE}:CancelScope", "_cancel_reason", "that a deadline cancelled a scope which tries once more"
)
REASON_DEADLINE = "; reason: deadline exceeded"
NURSERY_OF_GROUP = Attribute(LIBRARY, f"{TRIO_MODULE}:TaskGroup", "_nursery", "which tasks a group on trio waits for")

_WORKER = Function(LIBRARY, MODULE, "WorkerThread.run", "which request a worker thread works for")
CONTEXT_OF_WORK = Local(_WORKER, "context")
