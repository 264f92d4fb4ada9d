"""Threads of ours, which the application does not see and does not wait for.

They are not `threading.Thread`s: `threading.enumerate()` does not list them, `threading.active_count()` does not count
them, and the interpreter does not join them. Whoever joins all threads at the end of a script would wait for ever.

gevent and eventlet let `threading` make greenlets, all of which share one thread. A loop of our own in one of them
would stop all others while it waits. The modules' own functions are still there, and a thread of ours is made by those.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .forks import at_fork


def is_patched() -> bool:
    """Whether gevent or eventlet has replaced threads by greenlets."""
    return _is_patched_by_gevent() or _is_patched_by_eventlet()


def _is_patched_by_gevent() -> bool:
    monkey: Any = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


def _is_patched_by_eventlet() -> bool:
    patcher: Any = sys.modules.get("eventlet.patcher")
    return patcher is not None and bool(patcher.is_monkey_patched("thread"))


def _original(name: str) -> Any:
    """A function of `_thread` as it was before anything replaced it."""
    if _is_patched_by_gevent():
        return sys.modules["gevent.monkey"].get_original("_thread", name)
    if _is_patched_by_eventlet():
        return getattr(sys.modules["eventlet.patcher"].original("_thread"), name)
    return getattr(_thread, name)


def new_lock() -> Any:
    """A lock of the system's."""
    return _original("allocate_lock")()


class Flag:
    """An event, of which a whole thread waits for the end, its greenlets too."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._lock.acquire()
        self._is_set = False

    def set(self) -> None:
        """Let those go on that wait. A second call does nothing."""
        if not self._is_set:
            self._is_set = True
            with suppress(RuntimeError):  # two threads set it at once
                self._lock.release()

    def is_set(self) -> bool:
        """Whether it is."""
        return self._is_set

    def wait(self, timeout: float = -1) -> bool:
        """Wait until it is set; returns whether it is.

        :param timeout: seconds; -1: none
        """
        if self._lock.acquire(timeout=timeout):
            self._lock.release()
        return self._is_set


class SystemThread:
    """Runs a function once, in a thread that `threading` does not know. The function must not raise."""

    def __init__(self, target: Callable[[], object], name: str) -> None:
        self._target = target
        self._ended = Flag()
        self._stand_in: _StandIn | None = None
        self.name = name

    def start(self) -> None:
        """Begin.

        :raises RuntimeError: when the system has no thread to spare
        """
        _alive.add(self)
        _hide()
        try:
            _original("start_new_thread")(self._run, ())
        except BaseException:
            _alive.discard(self)
            if not _alive:
                _show()
            raise

    def is_alive(self) -> bool:
        """Whether it was started and its function goes on."""
        return self in _alive

    def is_this(self) -> bool:
        """Whether the caller is in it."""
        return _by_identity.get(_identity()) is self

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        self._ended.wait(-1 if timeout is None else max(0.0, timeout))

    def stand_in(self) -> threading.Thread:
        """What `threading.current_thread()` returns in it."""
        if self._stand_in is None:
            self._stand_in = _StandIn(self.name)
        return self._stand_in

    def _run(self) -> None:
        thread = _identity()
        _by_identity[thread] = self
        try:
            self._target()
        finally:
            _by_identity.pop(thread, None)
            _alive.discard(self)
            if not _alive:
                _show()
            if _alive:
                _hide()  # another one has begun meanwhile
            self._ended.set()


class _StandIn(threading.Thread):
    """Stands for a thread of ours where code asks for the current thread, and is listed nowhere."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        inside: Any = self
        inside._started.set()  # noqa: SLF001
        inside._set_ident()  # noqa: SLF001
        # the threads that CPython's tests take for forgotten
        dangling: Any = getattr(threading, "_dangling", None)
        if dangling is not None:
            dangling.discard(self)

    def is_alive(self) -> bool:
        return True

    def join(self, timeout: float | None = None) -> None:  # noqa: ARG002
        raise RuntimeError("a thread of the agent's cannot be joined")


_alive: set[SystemThread] = set()
_by_identity: dict[int, SystemThread] = {}


def alive() -> set[SystemThread]:
    """The threads of ours whose functions go on."""
    return _alive.copy()


def _identity() -> int:
    return int(_original("get_ident")())


def _hide() -> None:
    """Keep `threading.current_thread()`, which every log record calls, from listing a thread of ours.

    It makes a `_DummyThread` in a thread that `threading` does not know, which lists and numbers itself.
    """
    dummy: Any = getattr(threading, "_DummyThread", None)
    if dummy is not None:
        dummy.__new__ = _NEW


def _show() -> None:
    """Leave `threading` as it was, once no thread of ours is alive."""
    dummy: Any = getattr(threading, "_DummyThread", None)
    if dummy is not None and "__new__" in vars(dummy):
        del dummy.__new__


def _new(cls: type, *_: object, **__: object) -> Any:
    thread = _by_identity.get(_identity())
    new: Any = object.__new__
    # what is not an instance of the class is not initialised
    return new(cls) if thread is None else thread.stand_in()


_NEW = staticmethod(_new)


def _forget_in_child() -> None:
    """A forked child has none of its parent's threads."""
    _alive.clear()
    _by_identity.clear()
    _show()


at_fork(after_in_child=_forget_in_child)
