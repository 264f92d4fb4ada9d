"""The internals of asyncio that are looked at."""

from __future__ import annotations

from asyncio.base_events import BaseEventLoop
from typing import Any

from .touched import Attribute, Function, Library, Local

LIBRARY = Library("python", ">=3.10")
_TASKS, _GROUPS, _TIMEOUTS = "asyncio.tasks", "asyncio.taskgroups", "asyncio.timeouts"
_SINCE_GROUPS, _UNTIL_WAIT_FOR = ">=3.11", "<3.12"

ON_TIMEOUT = Function(
    LIBRARY, _TIMEOUTS, "Timeout._on_timeout", "that asyncio.timeout() cancelled a task", _SINCE_GROUPS
)
ON_ASYNC_TIMEOUT = Function(
    Library("async-timeout", ">=4,<6"), "async_timeout", "Timeout._on_timeout", "that async_timeout cancelled a task"
)
_GROUP_CREATE = Function(LIBRARY, _GROUPS, "TaskGroup.create_task", "that a group began a task", _SINCE_GROUPS)
GROUP_OF_NEW_TASK = Local(_GROUP_CREATE, "self")
_GROUP_DONE = Function(
    LIBRARY, _GROUPS, "TaskGroup._on_task_done", "which task of a group cancelled the others", _SINCE_GROUPS
)
ENDED_IN_GROUP = Local(_GROUP_DONE, "task")
_GROUP_EXIT = Function(LIBRARY, _GROUPS, "TaskGroup.__aexit__", "that the body of a group failed", _SINCE_GROUPS)
ERROR_OF_BODY = Local(_GROUP_EXIT, "exc")
GROUP_WAITED_FOR = Local(_GROUP_EXIT, "self")
_WAIT_FOR = Function(
    LIBRARY, _TASKS, "wait_for", "that wait_for() cancelled a task, and what it waits for", _UNTIL_WAIT_FOR
)
WAIT_FOR_WAITER = Local(_WAIT_FOR, "waiter")
WAIT_FOR_TIMEOUT = Local(_WAIT_FOR, "timeout")
WAIT_FOR_FUTURE = Local(_WAIT_FOR, "fut")
_WAIT = Function(LIBRARY, _TASKS, "_wait", "which tasks asyncio.wait() waits for")
WAITED_FOR = Local(_WAIT, "fs")

WAITER_OF_TASK = Attribute(
    LIBRARY, "asyncio.tasks:Task", "_fut_waiter", "whether a task waits, and that a cancellation wakes it"
)
ERROR_OF_TASK = Attribute(
    LIBRARY, "asyncio.tasks:Task", "_exception", "how a task ended: exception() would count as looking at it"
)
OPENER_OF_GROUP = Attribute(
    LIBRARY, "asyncio.taskgroups:TaskGroup", "_parent_task", "which task waits for a group", _SINCE_GROUPS
)
CHILDREN_OF_GATHER = Attribute(LIBRARY, "asyncio.tasks:_GatheringFuture", "_children", "which tasks gather() waits for")

_WORK = Function(LIBRARY, "concurrent.futures.thread", "_WorkItem.run", "which request a worker thread works for")
ITEM_OF_WORK = Local(_WORK, "self")
WORK_OF_ITEM = Attribute(
    LIBRARY, "concurrent.futures.thread:_WorkItem", "fn", "which request a worker thread works for", "<3.14"
)
TASK_OF_ITEM = Attribute(
    LIBRARY, "concurrent.futures.thread:_WorkItem", "task", "which request a worker thread works for", ">=3.14"
)
FUTURE_OF_ITEM = Attribute(
    LIBRARY, "concurrent.futures.thread:_WorkItem", "future", "when a worker thread has done a piece of work"
)
SELECTOR = Attribute(
    LIBRARY, "asyncio.selector_events:BaseSelectorEventLoop", "_selector", "when a loop that rests begins to run"
)
RUN_ONCE = Attribute(LIBRARY, "asyncio.base_events:BaseEventLoop", "_run_once", "when a loop that rests begins to run")


def selector_of(loop: BaseEventLoop) -> Any:
    """The selector that a loop waits in; None: it turns in another way."""
    own = getattr(type(loop), RUN_ONCE.name, None)
    return SELECTOR.of(loop) if own is not None and own is getattr(BaseEventLoop, RUN_ONCE.name, None) else None
