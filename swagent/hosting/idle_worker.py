"""The end of a worker that waits for work.

`Pool.terminate()`, which the end of `with Pool()` calls, ends its workers by SIGTERM, and thereby takes what they have
recorded in the last half second. So while a worker waits for its next job, a signal handler of ours flushes, and then
lets the signal do what it does. To the parent it is the same end: exit code -15.

Theory of operation
-------------------
The handler is there only while the worker waits, and only where the signal would end the process. While a job runs,
nothing is changed: a handler in Python would have to wait for the end of a call in C, and the job could not be ended.

Python calls a handler later than the system does, in the main thread. Two things may keep it from that, and the parent
would wait for ever:

* The signal comes when the main thread is about to wait in the system, or comes to another thread: nothing interrupts
  the wait.
* The signal comes when the handler is about to be taken out: Python finds none to call, and forgets the signal.

But in both cases the signal's number was written to the descriptor that `set_wakeup_fd` has set. A thread reads there,
and sends the signal again, to the main thread, until it has an effect.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

from .. import stop_budgets
from ..forks import at_fork
from ..system_thread import SystemThread, is_patched

_AGENT_THREAD = "swagent.hosting.agent_thread"
_IS_LINUX = sys.platform == "linux"
# Of /proc/self/stat: the signals with a handler, behind the program's name, which may contain blanks.
_CAUGHT = 31
# Seconds that the main thread has to call the handler before the signal is sent again.
_AGAIN = 0.02


class _Watch:
    """Reads which signals have come while the worker waited."""

    def __init__(self) -> None:
        """
        :raises OSError: there is no descriptor to spare
        :raises RuntimeError: there is no thread to spare
        """
        self.is_ending = False
        self.is_waiting = False
        self._main = threading.main_thread().ident or 0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._pipe = _identity(self._writer)
        self._thread = SystemThread(self._read, "swagent signals")
        self._thread.start()

    def begin(self) -> None:
        """Put the handler in place, unless the application handles signals in the same way."""
        if _identity(self._writer) != self._pipe:
            return  # the application closes what it has not opened
        former = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if former != -1:
            signal.set_wakeup_fd(former)
            return
        self.is_waiting = True
        signal.signal(signal.SIGTERM, _end)

    def end(self) -> None:
        """Take the handler out. A signal that was missed meanwhile comes again, and meets no handler."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        self.is_waiting = False

    def _read(self) -> None:
        numbers = b""
        while signal.SIGTERM not in numbers:
            try:
                numbers = os.read(self._reader, 64) if _identity(self._reader) == self._pipe else b""
            except OSError:
                return
            if not numbers:
                return
        while not self.is_ending:
            time.sleep(_AGAIN)
            if not self.is_ending:
                signal.pthread_kill(self._main, signal.SIGTERM)


_watch: _Watch | None = None


def begin_idle() -> None:
    """This worker has nothing to do from now on. If it is ended meanwhile by SIGTERM, it flushes before, for a bounded
    time. Where something else is to happen then, or nothing is recorded, this does nothing; so does a second call."""
    global _watch  # noqa: PLW0603, RUF100
    if (_watch is not None and _watch.is_waiting) or running() is None or not _would_end():
        return
    if _watch is None:
        _watch = _Watch()
    _watch.begin()


def end_idle() -> None:
    """This worker works from now on. A second call does nothing."""
    if _watch is not None and _watch.is_waiting:
        _watch.end()


def running() -> Any:
    """The process's agent in a thread; None where it has none. For that, nothing is imported."""
    agent_thread: Any = sys.modules.get(_AGENT_THREAD)
    return None if agent_thread is None else agent_thread.running()


def stop_within(seconds: float) -> None:
    """As that of the agent's thread."""
    agent_thread: Any = sys.modules.get(_AGENT_THREAD)
    if agent_thread is not None:
        agent_thread.stop_within(seconds)


def _would_end() -> bool:
    """Whether the signal ends this process at once, and this thread may change that."""
    if not _IS_LINUX or threading.current_thread() is not threading.main_thread() or is_patched():
        return False
    return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and not _is_caught()


def _is_caught() -> bool:
    """Whether a library has a handler in C, of which `signal` knows nothing."""
    try:
        with open("/proc/self/stat", "rb", 0) as file:
            fields = file.read().rpartition(b")")[2].split()
        return bool(int(fields[_CAUGHT]) >> (signal.SIGTERM - 1) & 1)
    except (OSError, ValueError, IndexError):
        return True


def _identity(descriptor: int) -> tuple[int, int] | None:
    """The identity of the file behind a descriptor; None: it was closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _end(number: int, _: Any) -> None:
    if _watch is not None:
        _watch.is_ending = True
    # a second one ends it at once
    signal.signal(number, signal.SIG_DFL)
    try:
        stop_within(stop_budgets.TERMINATED_FLUSH)
    finally:
        os.kill(os.getpid(), number)


def _forget_in_child() -> None:
    """A forked child ends for itself, and does not write into its parent's pipe."""
    global _watch  # noqa: PLW0603, RUF100
    end_idle()
    _watch = None


at_fork(after_in_child=_forget_in_child)
