"""The facts about one task of a request."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar

from typing_extensions import ParamSpec

from ..inspection.loop_view import context_of
from ..record.foreign import class_name
from ..record.limits import short
from ..record.trace.outcome import leaves_of, name_of_task
from .task_groups import Group

_MAX_CAUSE = 100
_MAX_KINDS = 3
DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
RUNNING = "running"


P = ParamSpec("P")
R = TypeVar("R")


def never_raising(look: Callable[P, R]) -> Callable[P, R | None]:
    """Let a function return None where it would raise. It looks at tasks of the application's own making, or at private
    names of a loop, and may fail. That costs what it would have found, and never the application's step."""

    @functools.wraps(look)
    def looked(*args: P.args, **options: P.kwargs) -> R | None:
        try:
            return look(*args, **options)
        except Exception:  # noqa: BLE001, RUF100  (as said)
            return None

    return looked


class TaskRecord:
    """One task.

    :ivar id: 0 is the request's own task
    :ivar parent: the number of the task that began it; None: it is not known
    :ivar task: refers to it while it runs
    :ivar key: its identity
    :ivar text: its `repr`, where its loop names tasks by that
    :ivar began: seconds after the request's begin, and so is `ended`
    :ivar cancelled_by: the cause of the last cancellation that it was woken by
    :ivar cancellations: how many cancellations were pending then
    :ivar knows_disconnect: whether it has received that the client went away
    :ivar status: where its loop has scopes that must be looked at, the one that was seen last
    """

    __slots__ = ("_context", "began", "cancellations", "cancelled_by", "cause", "ended", "group", "id", "key",
                 "knows_disconnect", "name", "outcome", "parent", "status", "task", "text")  # fmt: skip

    def __init__(self, number: int, parent: int | None, group: Group, began: float) -> None:
        self.id = number
        self.parent = parent
        self.group = group
        self.began = began
        self.ended: float | None = None
        self.outcome: str | None = None
        self.cause = ""
        self.name = ""
        self.task: weakref.ref[object] | None = None
        self.key = 0
        self.text = ""
        self.cancelled_by = ""
        self.cancellations = 0
        self.knows_disconnect = False
        self.status: Any = None
        self._context: Context | None = None

    def bind(self, task: object) -> None:
        """This is its task."""
        self.task = weakref.ref(task)
        self.key = id(task)

    def end(self, when: float, outcome: str | None, cause: str) -> None:
        """It has ended.

        :param outcome: None: it is not known how
        """
        self.name = self.name_now()
        self.ended = when
        self.outcome, self.cause = outcome, cause
        self.status = self._context = None

    def is_of(self, task: object) -> bool:
        """Whether it is this task's."""
        return self.task is not None and self.task() is task

    def context_now(self) -> Context | None:
        """The context that its task runs in, for which the garbage collector may have to be asked; None: it has ended,
        or shows none."""
        if self._context is None and self.task is not None:
            task = self.task()
            self._context = context_of(task) if task is not None else None
        return self._context

    def name_now(self) -> str:
        """Its task's name, which may have been given to it late."""
        task = self.task() if self.task is not None else None
        return name_of_task(task) if task is not None else self.name

    def described(self) -> dict[str, object]:
        """Its object in the tag, times in milliseconds."""
        fields: dict[str, object] = {"id": self.id}
        if self.parent is not None:
            fields["parent"] = self.parent
        fields["name"] = self.name_now()
        if str(self.group):
            fields["group"] = str(self.group)
        fields["begin"] = round(self.began * 1000)
        if self.ended is not None:
            fields["end"] = round(self.ended * 1000)
        if self.outcome:
            fields["outcome"] = self.outcome
        if self.cause:
            fields["cause"] = short(self.cause, _MAX_CAUSE)
        return fields

    def failure(self) -> str:
        """That it failed, as the cause of another one's end."""
        return f"task {self.id} failed: {self.cause}" if self.cause else f"task {self.id} failed"

    def cancellation(self) -> str:
        """That it was cancelled, as the cause of another one's end: with what cancelled it, if that is known."""
        return self.cancelled_by or ("the request was cancelled" if not self.id else f"task {self.id} was cancelled")

    def cancel_call(self) -> str:
        """That it called for a cancellation."""
        who = f"task {self.id}" if self.id else "the request's own task"
        return f"cancel() by {who}{', the client had gone' if self.knows_disconnect else ''}"


def kind_of(error: BaseException) -> str:
    """The class of an exception, and of those in a group."""
    kinds = list(dict.fromkeys(map(class_name, leaves_of(error))))
    if kinds == [class_name(error)]:
        return kinds[0]
    more = ", …" if len(kinds) > _MAX_KINDS else ""
    return f"{class_name(error)} of {', '.join(kinds[:_MAX_KINDS])}{more}"


def deadline_text(seconds: float | None) -> str:
    """The cause that is a deadline.

    :param seconds: how long it was; None: it is not known
    """
    return f"deadline of {duration(seconds)}" if seconds is not None and seconds >= 0 else "deadline"


def duration(seconds: float, digits: int = 3) -> str:
    """How long, in so many digits."""
    number, unit = (seconds, "s") if seconds >= 1 else (seconds * 1000, "ms")
    # `g` alone would write large ones with an exponent
    return f"{float(f'{number:.{digits}g}'):.12g} {unit}"
