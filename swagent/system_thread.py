"""A thread of the system, where gevent may have put greenlets in the place of threads.

gevent's `monkey.patch_all()`, which its servers call, lets `threading` make greenlets, all of which share one thread. A
loop of our own in one of them would stop all others while it waits. The modules' own functions are still there.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from typing import Any


def is_patched() -> bool:
    """Whether gevent has."""
    monkey: Any = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


def _original(name: str) -> Any:
    """A function of `_thread` as it was."""
    return sys.modules["gevent.monkey"].get_original("_thread", name) if is_patched() else getattr(_thread, name)


def new_lock() -> Any:
    """A lock of the system's."""
    return _original("allocate_lock")()


class Flag:
    """An event, of which a whole thread waits for the end, its greenlets too."""

    def __init__(self) -> None:
        self._lock = _original("allocate_lock")()
        self._lock.acquire()
        self._is_set = False

    def set(self) -> None:
        """Let those go on that wait. A second call does nothing."""
        if not self._is_set:
            self._is_set = True
            self._lock.release()

    def is_set(self) -> bool:
        """Whether it is."""
        return self._is_set

    def wait(self, timeout: float = -1) -> None:
        """Wait until it is set.

        :param timeout: seconds; -1: none
        """
        if self._lock.acquire(timeout=timeout):
            self._lock.release()


class SystemThread:
    """Runs a function once, and does not hold the interpreter."""

    def __init__(self, target: Callable[[], object], name: str) -> None:
        self._target = target
        self._ended = Flag()
        self._thread = None if is_patched() else threading.Thread(target=target, name=name, daemon=True)

    def start(self) -> None:
        """Begin.

        :raises RuntimeError: when the system has no thread to spare
        """
        if self._thread is not None:
            self._thread.start()
        else:
            _original("start_new_thread")(self._run, ())

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        if self._thread is not None:
            self._thread.join(timeout)
        else:
            self._ended.wait(-1 if timeout is None else timeout)

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._ended.set()
