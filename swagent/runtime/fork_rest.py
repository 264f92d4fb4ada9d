"""The agent's threads at a fork: they rest while it happens, where the application has but one thread.

Theory of operation
-------------------
A fork copies the memory as it is at that moment. What another thread holds then, a lock of a module that it imports or
of a stream that it writes to, stays held in the child for ever. Python 3.12 and later warn of it wherever there is a
second thread, and the agent's would be that one for an application that has only one.

So before a fork each of the agent's loops is asked to rest: it calls a function that waits for the end of the fork, and
that holds nothing. Neither asyncio's loops nor trio's have to end for that. If all threads but the forking one are the
agent's and the loops among them rest, there is nothing to warn of, and that one warning is left out. If a loop does not
get to it in time, the fork goes on as it would without this, and so does the warning. In an application with threads of
its own nothing is asked and nothing left out.

The hooks take no lock, since a signal handler may fork in the middle of anything. The threads that are no loops (the
watch over blocked loops, the look-up of a name) wait for an event nearly all of their time, and are not asked.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ..forks import at_fork
from ..system_thread import Flag, alive, is_patched

# Seconds that a fork may be held up by all loops of ours together.
_LONGEST_WAIT = 0.5
# And a loop by a fork, should its end not be reported.
_LONGEST = 5.0
_WARNING = "This process (pid="
_WARNS = sys.version_info >= (3, 12)


class _Rest:
    """One loop at one fork."""

    def __init__(self) -> None:
        self.begun = Flag()
        self.over = Flag()

    def __call__(self) -> None:
        self.begun.set()
        self.over.wait(_LONGEST)


class _ForkWarning:
    """Takes the place of a pattern in a filter: the one warning of one fork, in the process that forks."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def match(self, text: str) -> bool:
        """As a pattern's. Called where the warning is about to be given."""
        is_it = text.startswith(_WARNING) and "is multi-threaded" in text and os.getpid() == self._process
        if is_it:
            _withdraw()
        return is_it


# The loops of ours that run, by the identifiers of their threads.
_loops: dict[int, Callable[[Callable[[], object]], object]] = {}
_resting: list[_Rest] = []
_filter: tuple[list[Any], Any] | None = None


@contextmanager
def resting_at_forks(notify: Callable[[Callable[[], object]], object]) -> Generator[None, None, None]:
    """Let the loop that runs in this thread, the agent's own, rest at forks for the length of the block.

    :param notify: lets the loop call a function soon; any thread; never waits and never raises
    """
    thread = threading.get_ident()
    _loops[thread] = notify
    try:
        yield
    finally:
        _loops.pop(thread, None)


def _before() -> None:
    if is_patched() or threading.get_ident() in _loops:
        return
    ours = len(alive())
    if ours and _count() == 1 + ours and _rest() and _WARNS:
        _leave_out_warning()


def _rest() -> bool:
    """Let the loops rest; returns whether all of them do."""
    if not _resting:  # otherwise a signal handler forks in the middle of this
        for notify in [*_loops.values()]:
            rest = _Rest()
            _resting.append(rest)
            notify(rest)
    deadline = time.monotonic() + _LONGEST_WAIT
    for rest in [*_resting]:
        rest.begun.wait(max(0.0, deadline - time.monotonic()))
    return all(rest.begun.is_set() for rest in _resting)


def _after() -> None:
    while _resting:
        _resting.pop().over.set()


def _after_in_child() -> None:
    # the threads are the parent's, and so is the end of their rest
    _loops.clear()
    _resting.clear()
    _withdraw()


def _leave_out_warning() -> None:
    global _filter  # noqa: PLW0603, RUF100
    _withdraw()
    # in front, and only until it is met: Python gives the warning before or after the hooks of the parent
    entry = ("ignore", _ForkWarning(), DeprecationWarning, None, 0)
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    filters.insert(0, entry)
    _filter = filters, entry


def _withdraw() -> None:
    global _filter  # noqa: PLW0603, RUF100
    found, _filter = _filter, None
    if found is not None and found[1] in found[0]:
        found[0].remove(found[1])


def _count() -> int:
    """The threads of this process, as Python counts them for its warning."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[17])
    except OSError:
        return len(getattr(threading, "_active", ())) + len(alive())


at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
