"""How an operation ended, by the exception that left it, and in which task.

Only a failure is an error. A cancellation means that no code waits for the result any more, and a timeout means that
the caller did not want to wait longer: both say more about the caller than about the operation.
"""

from __future__ import annotations

import asyncio
import builtins
import enum
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..foreign import must_reach_application
from ..limits import name_of

# Its backport comes with the agent until Python 3.11.
_Group: Any = getattr(builtins, "BaseExceptionGroup", None) or import_module("exceptiongroup").BaseExceptionGroup


class Outcome(enum.Enum):
    """One of four; its value is the tag `outcome`, where there is one."""

    OK = ""
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


# Until Python 3.11 the second one is a class of its own.
_TIMEOUTS: tuple[type[BaseException], ...] = (TimeoutError, asyncio.TimeoutError)
# How anyio's message ends, where the deadline of a scope has passed (from its version 4.11 on).
_DEADLINE = "; reason: deadline exceeded"
_EXCEPTIONS: Any = _Group.__dict__["exceptions"]
_WORST_FIRST = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CANCELLED)
_library_timeouts: tuple[type[BaseException], ...] = ()


def count_as_timeout(*kinds: type[BaseException]) -> Callable[[], object]:
    """Count these exceptions of a library as timeouts, since their class does not show it.

    :returns: takes it back
    """
    global _library_timeouts  # noqa: PLW0603, RUF100
    _library_timeouts = (*_library_timeouts, *kinds)
    return lambda: _forget_timeouts(kinds)


def _forget_timeouts(kinds: tuple[type[BaseException], ...]) -> None:
    global _library_timeouts  # noqa: PLW0603, RUF100
    _library_timeouts = tuple(kind for kind in _library_timeouts if kind not in kinds)


def outcome_of(error: BaseException) -> Outcome:
    """How an operation ended, by the exception that left it. Leaving by GeneratorExit or SystemExit is a plain end."""
    # by the type alone: isinstance() would ask the error's own idea of its class as well
    kind = type(error)
    if issubclass(kind, _Group):
        return _outcome_of_group(error)
    if issubclass(kind, (*_TIMEOUTS, *_library_timeouts, *_of_trio("TooSlowError"))):
        return Outcome.TIMED_OUT
    if issubclass(kind, (asyncio.CancelledError, *_of_trio("Cancelled"))):
        return Outcome.TIMED_OUT if _is_by_deadline(error) else Outcome.CANCELLED
    return Outcome.FAILED if issubclass(kind, Exception) else Outcome.OK


def _outcome_of_group(group: Any) -> Outcome:
    """The worst of what is in it."""
    found = set(map(outcome_of, leaves_of(group)))
    return next((each for each in _WORST_FIRST if each in found), Outcome.OK)


def leaves_of(error: BaseException) -> list[BaseException]:
    """The exceptions that a group and its groups hold; one that is no group is its own."""
    if not issubclass(type(error), _Group):
        return [error]
    found: list[BaseException] = []
    groups: list[BaseException] = [error]
    while groups:
        # not by the group's own idea of them
        inside: tuple[BaseException, ...] = _EXCEPTIONS.__get__(groups.pop())
        for each in inside:
            (groups if issubclass(type(each), _Group) else found).append(each)
    return found


def _of_trio(name: str) -> tuple[type[BaseException], ...]:
    """A class of trio's. A process that never imported trio cannot be cancelled by it."""
    found = getattr(sys.modules.get("trio"), name, None)
    return (found,) if isinstance(found, type) else ()


def _is_by_deadline(error: Any) -> bool:
    """Whether the deadline of a scope has passed, as far as the library reports it: trio does since its version 0.31.
    asyncio's own timeouts do not report it; they turn the cancellation into a TimeoutError.
    """
    try:
        if getattr(error, "source", None) == "deadline":
            return True
        message = error.args[0] if error.args else None
        return type(message) is str and message.endswith(_DEADLINE)
    except BaseException as raised:  # noqa: BLE001, RUF100  (a class with a will of its own)
        if must_reach_application(raised):
            raise
        return False


def running_task() -> Any:
    """The task that runs now, of asyncio or trio; None outside of one."""
    # exported, and it does not raise as its public sister does
    loop = asyncio._get_running_loop()  # noqa: SLF001
    if loop is not None:
        return asyncio.current_task(loop)
    trio: Any = sys.modules.get("trio")
    try:
        return trio.lowlevel.current_task() if trio is not None and trio.lowlevel.in_trio_task() else None
    except AttributeError:
        return None  # being imported


def name_of_task(task: Any) -> str:
    """Its name; empty where it has none."""
    try:
        name = task.get_name() if hasattr(task, "get_name") else task.name
    except Exception:  # noqa: BLE001, RUF100  (a task of a foreign class)
        return ""
    return name_of(name)
