"""The tasks of one request whose time is split: the code that began each, when, how it ended, and what cancelled it.

Only facts that a loop shows are described. The others are left out, not guessed. The tasks are held weakly, so an
application that forgets one loses it as it would without us.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from ..record.limits import MAX_VALUE
from ..record.trace.model import SpanRecord
from ..record.trace.outcome import name_of_task, running_task
from .task_groups import NO_GROUP, Group
from .task_record import FAILED, RUNNING, TaskRecord, never_raising

M = TypeVar("M", bound=Mapping[str, Any])

MAX_TASKS = 64
"""So many are kept of a request, those that began first."""
_MAX_GROUPS = 64
_MAX_DEADLINES = 64


class RequestTasks:
    """Those of one request. Each method is for the thread of its loop.

    :ivar own: the request's own task, which is number 0
    :ivar deadlines: how long a scope was to last, for the loop whose scopes have to be looked at before they end
    :ivar scope_causes: why a scope was cancelled that cancels its tasks one after the other
    """

    __slots__ = ("_announced", "_by_task", "_groups", "_left_out", "_records", "began", "deadlines", "own",
                 "scope_causes")  # fmt: skip

    def __init__(self, task: object) -> None:
        """
        :param task: the request's own; None: there is none
        """
        self.began = time.monotonic()
        self.own = TaskRecord(0, None, NO_GROUP, 0.0)
        self.deadlines: dict[int, tuple[object, float, str]] = {}
        self.scope_causes: dict[int, tuple[object, str]] = {}
        self._groups: list[Group] = []
        self._records: list[TaskRecord] = []
        self._left_out = 0
        self._by_task: dict[int, TaskRecord] = {}
        self._announced: list[tuple[TaskRecord, object]] = []
        if task is not None:
            self._bind(self.own, task)

    # -- what the loops show ------------------------------------------------------------------------------------------

    def begin(self, task: object, parent: object, group: Group) -> None:
        """A task is there.

        :param parent: the task that began it; None: it is not known
        """
        announced, by = self._announced[-1] if self._announced else (None, None)
        if announced is not None and announced.task is None and by is parent:
            self._bind(announced, task)
            return
        record = self._add(parent, group)
        if record is not None:
            self._bind(record, task)

    def announce(self, parent: object, group: Group) -> TaskRecord | None:
        """A task is about to be there that may run before it can be seen: an eager one. `arrive` follows."""
        record = self._add(parent, group)
        if record is not None:
            self._announced.append((record, parent))
        return record

    @never_raising
    def arrive(self, record: TaskRecord, task: object) -> None:
        """The task that was announced is there.

        :param task: None: it has not come to that
        """
        self._announced = [each for each in self._announced if each[0] is not record]
        if record.task is not None:
            return
        if task is not None:
            self._bind(record, task)
        elif self._records and self._records[-1] is record:
            self._records.pop()

    def end(self, record: TaskRecord, outcome: str | None, cause: str = "") -> None:
        """A task has ended.

        :param outcome: None: it is not known how
        """
        record.end(self._now(), outcome, cause)
        self._by_task.pop(record.key, None)

    def group(self, label: str, group: object) -> Group:
        """The group of this kind and identity: a number distinguishes it from others of its kind.

        :param group: None: tasks of this kind have nothing in common
        """
        if not label or group is None:
            return Group(label, None)
        for each in self._groups:
            if each.label == label and each.is_of(group):
                return each
        found = Group(label, weakref.ref(group), 1 + sum(each.label == label for each in self._groups))
        if len(self._groups) < _MAX_GROUPS:
            self._groups.append(found)
        return found

    def note_deadline(self, scope: object, deadline: float, text: str) -> None:
        """A scope has a deadline.

        :param text: how long it was to last; empty: it is not known
        """
        if len(self.deadlines) < _MAX_DEADLINES:
            self.deadlines[id(scope)] = (scope, deadline, text)

    def note_scope(self, scope: object, cause: str) -> None:
        """A scope was cancelled. It goes on cancelling its tasks."""
        if len(self.scope_causes) < _MAX_DEADLINES:
            self.scope_causes.setdefault(id(scope), (scope, cause))

    # -- what is asked ------------------------------------------------------------------------------------------------

    def find(self, task: object) -> TaskRecord | None:
        """The record of a task of this request that has not ended."""
        record = self._by_task.get(id(task))
        return record if record is not None and record.is_of(task) else None

    def find_running(self, task: object) -> TaskRecord | None:
        """The record of the task that runs now."""
        record = self.find(task)
        announced, by = self._announced[-1] if self._announced else (None, None)
        if record is not None or task is None or announced is None or announced.task is not None or by is task:
            return record
        # nothing but an eager task runs while it is made
        self._bind(announced, task)
        return announced

    def find_ended(self, task: object) -> TaskRecord | None:
        """The record of a task of this request that has ended just now."""
        return next(
            (record for record in reversed(self._records) if record.ended is not None and record.is_of(task)), None
        )

    def failed_in(self, group: object) -> TaskRecord | None:
        """The first of a group's tasks that failed."""
        failed = [each for each in self._records if each.outcome == FAILED and each.group.is_of(group)]
        return min(failed, key=lambda each: each.ended or 0.0, default=None)

    def unfinished(self) -> list[TaskRecord]:
        """Those that have not ended, the first begun first; without the request's own."""
        return [record for record in self._records if record.ended is None]

    def by_text(self, text: str) -> TaskRecord | None:
        """The record of the task that has this `repr`."""
        return next((record for record in (self.own, *self._records) if text and record.text == text), None)

    def name_task(self, span: SpanRecord) -> None:
        """A span has begun: the tag `task` says in which task, if that is not the request's own."""
        task = running_task()
        name = name_of_task(task) if task is not None and not self.own.is_of(task) else ""
        if name:
            span.tags.append(("task", name))

    def follow(self, receive: Callable[[], Awaitable[M]]) -> Callable[[], Awaitable[M]]:
        """The server's `receive`: it notes which task has received that the client went away. Itself, if it is no
        coroutine function: what it returns is the application's."""
        if not iscoroutinefunction(receive):
            return receive

        async def noted() -> M:
            message = await receive()
            self._note_message(message)
            return message

        return noted

    def tags(self) -> tuple[tuple[str, str], ...]:
        """The tasks as tags; nothing, where there were none."""
        return self._tags() or ()

    @never_raising
    def _tags(self) -> tuple[tuple[str, str], ...]:
        texts: list[str] = []
        room = MAX_VALUE - 2
        for record in self._records:
            if record.ended is None and self.find(record.group.opener()) is not None:
                record.outcome = RUNNING
            text = json.dumps(record.described(), separators=(",", ":"), ensure_ascii=False)
            room -= len(text) + 1
            if room < 0:
                break
            texts.append(text)
        left_out = self._left_out + len(self._records) - len(texts)
        tags = (("tasks", f"[{','.join(texts)}]"),) if texts else ()
        return (*tags, ("tasks.left_out", str(left_out))) if left_out else tags

    @never_raising
    def _note_message(self, message: Mapping[str, Any]) -> None:
        record = self.find_running(running_task()) if message["type"] == "http.disconnect" else None
        if record is not None:
            record.knows_disconnect = True

    # -- within -------------------------------------------------------------------------------------------------------

    def _add(self, parent: object, group: Group) -> TaskRecord | None:
        if len(self._records) >= MAX_TASKS:
            self._left_out += 1
            return None
        by = self.find_running(parent)
        record = TaskRecord(len(self._records) + 1, by.id if by is not None else None, group, self._now())
        self._records.append(record)
        return record

    def _bind(self, record: TaskRecord, task: object) -> None:
        record.bind(task)
        self._by_task[record.key] = record

    def _now(self) -> float:
        return time.monotonic() - self.began


NO_TASKS = RequestTasks(None)
"""In the place of those of a request that is over."""
