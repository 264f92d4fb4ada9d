"""Keeps the reporting of logs from reporting itself.

Three things could come back through the capture and feed it for ever: what the application's own code logs while a
record is turned into text (a `__str__`, an operation's naming callable), what the agent logs, and what the agent's
libraries log on its behalf. The first is recognised by a mark on this thread and in this context, the second by its
logger's name, the third by `suppress_instrumentation`. Records of the same libraries that the application causes are
reported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from ..foreign import must_reach_application
from ..suppression import suppress_instrumentation
from ..trace.context import switch

E = TypeVar("E")
R = TypeVar("R")
T = TypeVar("T")


class _Work:
    """One record that is being reported. A plain flag would not be enough: foreign code may start a task meanwhile.
    That task inherits the context, and its later log records are the application's.
    """

    __slots__ = ("going_on",)

    def __init__(self) -> None:
        self.going_on = True


class Thread:
    """The state of one thread. It is an object of its own, since each access to a thread-local variable takes time.

    :ivar reporting: whether it is inside `alone`
    :ivar dispatching: whether the application's handlers have a record that is reported anyway; they may forward it to
        another logging library
    """

    __slots__ = ("dispatching", "reporting")

    def __init__(self) -> None:
        self.reporting = self.dispatching = False


class _Local(threading.local):
    def __init__(self) -> None:
        self.thread = Thread()


local = _Local()
"""Its `thread` is this one."""
work: ContextVar[_Work | None] = ContextVar("swagent_log_work", default=None)
"""The record that is being reported in this context."""


def read_alone(thread: Thread, read: Callable[[R, E], T | None], record: R, entry: E) -> T | None:
    """As `alone`, for a function that is short and starts no task. Returns its result; None if it fails, or if such a
    call is under way: the full path, which uses `alone`, finds out which.

    :param thread: this one, see `local`
    """
    if thread.reporting or suppress_instrumentation.get():
        return None
    inherited = work.get()
    if inherited is not None and inherited.going_on:
        return None
    thread.reporting = True
    try:
        return read(record, entry)
    except Exception:  # noqa: BLE001, RUF100  (the full path meets it again, and answers it)
        return None
    finally:
        thread.reporting = False


def alone(report: Callable[..., object], *record: object) -> None:
    """Call the function, unless such a call is under way here, or this is one of the agent's own tasks. Its errors stay
    here, except those that end threads and tasks, such as KeyboardInterrupt and a cancellation."""
    inherited, thread = work.get(), local.thread
    if thread.reporting or (inherited is not None and inherited.going_on) or suppress_instrumentation.get():
        return
    started = _Work()
    try:
        thread.reporting = True
        switch(work, started)
        report(*record)
    except BaseException as error:  # noqa: BLE001, RUF100  (the application's call goes on; saying so would log again)
        if must_reach_application(error):
            raise
    finally:
        started.going_on = False
        switch(work, inherited)
        thread.reporting = False


def is_forwarded() -> bool:
    """Whether this thread is inside a handler of a record that is reported anyway."""
    return local.thread.dispatching
