"""Notices that a process has lived for some seconds, without a thread, a signal or a timer in those that do not.

Python calls nothing of ours by itself. So this looks at the clock where the process gives it an occasion: when a module
is imported, and when garbage is collected, of which PyPy tells nothing. After the first second a thread waits for the
rest. A short process never has one. A process that only sleeps gives no occasion, and its life is noticed later: to
replace `time.sleep` would be a change that the application sees.

The thread ends before a fork and begins anew after it: Python 3.12 and later warn of a fork where there is a second
thread.
"""

from __future__ import annotations

import gc
import os
import time
from _thread import allocate_lock, start_new_thread

from ..forks import at_fork
from . import import_hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

# Seconds after which a process is no short one.
_SHORT = 1.0
# How often a fork looks whether the thread has ended, and the seconds between two looks.
_LOOKS, _BETWEEN = 100, 0.0002
# Seconds between two looks whether the application still imports, once the time is over.
_PAUSE = 0.25
_IMPORTLIB = "<frozen importlib"
# as it is now: gevent replaces it by one that runs other greenlets, which must not happen in the middle of a fork
_sleep = time.sleep


class Lifetime:
    """The time until a function is called."""

    def __init__(self, seconds: float, call: Callable[[], object]) -> None:
        """
        :param seconds: from now on
        :param call: called once, in a thread of its own; must not raise
        """
        now = time.monotonic()
        self._end = now + seconds
        self._short = now + min(seconds, _SHORT)
        self._call = call
        # of the thread that waits; released to end it
        self._wait: Any = None
        self._is_over = False

    def begin(self) -> None:
        """Look at the clock from now on."""
        if hasattr(gc, "callbacks"):
            gc.callbacks.append(self._look)
        import_hook.watch_names(self._look)
        at_fork(before=self._end_thread, after_in_parent=self._wait_again, after_in_child=self.end)

    def end(self) -> None:
        """Do not call the function any more."""
        self._is_over = True
        self._stop_looking()
        self._wait = None

    def _look(self, *_: object) -> None:
        if time.monotonic() >= self._short:
            self._begin_to_wait()

    def _stop_looking(self) -> None:
        import_hook.stop_watching(self._look)
        if self._look in getattr(gc, "callbacks", ()):
            gc.callbacks.remove(self._look)

    def _begin_to_wait(self) -> None:
        if self._wait is None and not self._is_over:
            self._stop_looking()
            wait = self._wait = allocate_lock()
            wait.acquire()
            try:
                start_new_thread(self._wait_for_end, (wait,))
            except RuntimeError:
                # the system has no thread to spare, and so none for the agent
                self._is_over = True

    def _wait_for_end(self, wait: Any) -> None:
        is_ended = wait.acquire(timeout=max(0.0, self._end - time.monotonic()))
        while not is_ended and _is_importing():
            is_ended = wait.acquire(timeout=_PAUSE)
        if not is_ended and not self._is_over:
            self._is_over = True
            self._call()

    def _end_thread(self) -> None:
        """Before a fork."""
        wait = self._wait
        if wait is None or self._is_over or not wait.locked():
            return
        before = _count_threads()
        wait.release()
        for _ in range(_LOOKS):
            if _count_threads() < before:
                break
            _sleep(_BETWEEN)

    def _wait_again(self) -> None:
        """After it."""
        if self._wait is not None:
            self._wait = None
            self._begin_to_wait()


def _is_importing() -> bool:
    """Whether any other thread is in the middle of an import. What starts then imports as well, and two threads that
    import the same modules in another order may get to see parts of them."""
    from ..thread_frames import caller_of, current_frames  # noqa: PLC0415, RUF100  (an idle process does not need it)

    for frame in current_frames().values():
        at: FrameType | None = frame
        while at is not None:
            if at.f_code.co_filename.startswith(_IMPORTLIB):
                return True
            at = caller_of(at)
    return False


def _count_threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0
