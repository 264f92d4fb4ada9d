"""Carrying the context into threads by itself: what `capture()` does by hand.

Two functions are replaced for as long as an agent runs. `ThreadPoolExecutor.submit` is also what `run_in_executor` of
every asyncio loop calls, uvloop's too. `Thread.start` knows nothing of what a pool's thread will do, so a pool that
starts one inside of `submit` is left alone: that thread does not belong to the request that happens to come first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .logs.patch import Patch
from .trace.context_snapshot import ContextSnapshot, capture
from .trace.spans import current_span


class ThreadPropagation:
    """Carries the active span's context from `attach()` to `detach()`; both belong to one thread at a time."""

    def __init__(self) -> None:
        self._patches = [
            Patch(ThreadPoolExecutor, "submit", _wrap_submit),
            Patch(threading.Thread, "start", _wrap_start),
        ]

    def attach(self) -> None:
        """Put the replacements in place. A second call does nothing."""
        for patch in self._patches:
            patch.apply()

    def detach(self) -> None:
        """Take them out. A job that was submitted before still runs with its context. A second call does nothing."""
        for patch in self._patches:
            patch.remove()


class _Thread(threading.local):
    submitting = False


_thread = _Thread()


class _Carried:
    """A function that runs under a snapshot."""

    __slots__ = ("_function", "_snapshot")

    def __init__(self, function: Callable[..., object], snapshot: ContextSnapshot) -> None:
        self._function = function
        self._snapshot = snapshot

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        with self._snapshot:
            return self._function(*args, **kwargs)


class _Run:
    """Replaces the `run` of one instance of Thread, once."""

    def __init__(self, thread: threading.Thread, snapshot: ContextSnapshot) -> None:
        self._thread = thread
        self._snapshot = snapshot

    def __call__(self) -> None:
        thread, snapshot = self._thread, self._snapshot
        # the method of its class counts again, and thread and snapshot no longer hold each other
        vars(thread).pop("run", None)
        with snapshot:
            thread.run()


def _wrap_submit(patch: Patch) -> Callable[..., object]:
    def submit(*args: Any, **kwargs: object) -> object:
        snapshot = _take(patch) if args[1:] else None
        if snapshot is None:
            return patch.original(*args, **kwargs)
        outer = _thread.submitting
        try:
            _thread.submitting = True
            return patch.original(args[0], _Carried(args[1], snapshot), *args[2:], **kwargs)
        finally:
            _thread.submitting = outer

    return submit


def _wrap_start(patch: Patch) -> Callable[..., object]:
    def start(self: threading.Thread, *args: object, **kwargs: object) -> object:
        snapshot = _take(patch) if not _thread.submitting else None
        if snapshot is None or not _lend_run(self, snapshot):
            return patch.original(self, *args, **kwargs)
        try:
            return patch.original(self, *args, **kwargs)
        except BaseException:
            # the system has none to spare, or it was started before
            vars(self).pop("run", None)
            raise

    return start


def _lend_run(thread: threading.Thread, snapshot: ContextSnapshot) -> bool:
    """Let a thread run under a snapshot, unless the application has given the instance a `run` of its own."""
    try:
        own = vars(thread)
        if "run" in own:
            return False
        own["run"] = _Run(thread, snapshot)
    except Exception:  # noqa: BLE001, RUF100  (a thread of a foreign class)
        return False
    return True


def _take(patch: Patch) -> ContextSnapshot | None:
    """A snapshot of the active span; None where there is nothing to carry."""
    try:
        return capture() if patch.is_active and current_span() is not None else None
    except Exception:  # noqa: BLE001, RUF100  (ours, and it costs the application no thread)
        return None
