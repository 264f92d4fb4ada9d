"""Where requests are at one moment: a look at their tasks and threads.

A request has the task or thread that it came in, and those that were begun in its context: other tasks, and threads of
pools. Each shows under its own name.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from contextvars import Context
from typing import NamedTuple, Protocol

from ..inspection.executor_threads import context_of_work
from ..inspection.loop_view import LoopView, context_of
from ..record.trace.context import active_span, current
from ..record.trace.outcome import name_of_task
from ..record.trace.segment import Segment
from ..record.trace.span import Span
from ..thread_frames import current_frames
from .snapshot_series import SnapshotSeries
from .stacks import task_stack, thread_stack

# Of a loop or a process that has more of them, the rest is not looked at: that would take longer than a period.
_MAX_TASKS = 5_000
_MAX_THREADS = 500


class Request(Protocol):
    """A request while it is served."""

    start_time: float
    """By the monotonic clock."""

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        ...

    def operation(self) -> tuple[str, bool]:
        """Its operation's name, and whether no later one is to come."""
        ...

    def to_span(self) -> Span | None:
        """Its span, made now where there is none; None: it has ended without one."""
        ...


class Followed(NamedTuple):
    """A request that is looked at."""

    request: Request
    task: object
    """The one that it came in; None: it came in a thread without a loop."""
    thread: int
    segment: Segment | None
    snapshots: SnapshotSeries


Owners = Mapping[int, Followed]
"""By the identity of the request and of its segment: one of the two is in the context of all that it does."""


def look(followed: Sequence[Followed], views: Mapping[int, LoopView], depth: int) -> None:
    """Add to the snapshots of each request where its tasks and threads are now.

    :param views: the loops that they are in, by thread
    :param depth: how many frames of a stack
    """
    owners: dict[int, Followed] = {}
    for each in followed:
        owners[id(each.request)] = owners[id(each.segment)] = each
    for view in [*views.values()]:
        if view.is_run():
            _look_at_tasks(view, owners, depth)
    _look_at_threads(followed, owners, views, depth)
    for each in followed:
        each.snapshots.end_round()


def _look_at_tasks(view: LoopView, owners: Owners, depth: int) -> None:
    running = view.running()
    others = itertools.islice((task for task in view.tasks() if task is not running), _MAX_TASKS)
    # the running one first: it runs on while we look at the others
    for task in [*([running] if running is not None else []), *others]:
        context = context_of(task)
        owner = _owner(context, owners)
        if owner is None or context is None:
            continue
        stack = task_stack(view, task, context, depth)
        if stack:
            name = "" if task is owner.task else f" / task {name_of_task(task)}"
            owner.snapshots.add(id(task), _now(), (owner.snapshots.name + name, *stack))


def _look_at_threads(followed: Sequence[Followed], owners: Owners, views: Mapping[int, LoopView], depth: int) -> None:
    frames = current_frames()
    own: dict[int, Followed] = {each.thread: each for each in followed if each.task is None}
    for thread, frame in itertools.islice(frames.items(), _MAX_THREADS):
        owner, name = own.get(thread), ""
        if owner is None and thread not in views:
            owner, name = _owner(context_of_work(frame), owners), " / thread"
        if owner is not None:
            owner.snapshots.add(thread, _now(), (owner.snapshots.name + name, *thread_stack(frame, depth)))


def _owner(context: Context | None, owners: Owners) -> Followed | None:
    """The request that is served in a context."""
    entry = active_span(context.get(current)) if context is not None else None
    if entry is None:
        return None
    segment = getattr(entry, "segment", None)
    return owners.get(id(entry)) or (owners.get(id(segment.root_segment)) if segment is not None else None)


def _now() -> int:
    return int(time.time() * 1000)
