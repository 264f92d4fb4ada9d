"""Carrying the context into threads by itself: what `capture()` does by hand.

Two functions are replaced for as long as an agent runs. `ThreadPoolExecutor.submit` is also what `run_in_executor` of
every asyncio loop calls, uvloop's too. `Thread.start` knows nothing of what a pool's thread will do, so a thread that a
pool starts inside of `submit` does not belong to the request that happens to come first. From Python 3.14 on, threads
may inherit the whole context by themselves (`-X thread_inherit_context=1`): there such a thread has to forget the
request, even if the agent is to carry no context into threads.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from types import MethodType
from typing import Any

from ..built_in import unseen
from .logs.patch import Patch
from .trace.context import current, switch
from .trace.context_snapshot import ContextSnapshot, capture
from .trace.model import SpanKind
from .trace.span import Span
from .trace.spans import current_span

Block = AbstractContextManager[object]
Take = Callable[[Patch], "ContextSnapshot | None"]
# Whether a thread begins with a copy of the context of the one that starts it.
_INHERITS = bool(getattr(sys.flags, "thread_inherit_context", 0))


class ThreadPropagation:
    """Carries the active span's context from `attach()` to `detach()`; both belong to one thread at a time."""

    def __init__(self, is_on: bool = True) -> None:
        """:param is_on: whether to carry it; otherwise this only keeps what threads inherit from going astray"""
        take = _take if is_on else _take_nothing
        self._patches = [
            Patch(ThreadPoolExecutor, "submit", partial(_wrap_submit, take)),
            Patch(threading.Thread, "start", partial(_wrap_start, take)),
        ] if is_on or _INHERITS else []  # fmt: skip

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

    @unseen
    def __call__(self, /, *args: object, **kwargs: object) -> object:
        with self._snapshot:
            return self._function(*args, **kwargs)


class _Forgetting:
    """A block at the begin of a thread: what that has inherited does not count."""

    def __enter__(self) -> None:
        switch(current, None)

    def __exit__(self, *_: object) -> None:
        """The context ends with the thread."""


def _forgetting(patch: Patch) -> _Forgetting | None:
    return _Forgetting() if _INHERITS and patch.is_active else None


def _wrap_submit(take: Take, patch: Patch) -> Callable[..., object]:
    def submit(*args: Any, **kwargs: object) -> object:
        snapshot = take(patch) if args[1:] else None
        if snapshot is not None and _shares_nothing(args[0]):
            return _submit_elsewhere(patch, args, kwargs)
        if snapshot is None and not _INHERITS:
            return patch.original(*args, **kwargs)
        outer = _thread.submitting
        try:
            _thread.submitting = True
            if snapshot is None:
                return patch.original(*args, **kwargs)
            return patch.original(args[0], _Carried(args[1], snapshot), *args[2:], **kwargs)
        finally:
            _thread.submitting = outer

    return submit


def _shares_nothing(pool: object) -> bool:
    """Whether the jobs of a pool run in other interpreters, into which no object of ours can be taken."""
    module: Any = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(pool, module.InterpreterPoolExecutor)


def _submit_elsewhere(patch: Patch, args: tuple[Any, ...], kwargs: dict[str, object]) -> object:
    """Hand over a job as it is, and record it here, from the call to the result."""
    parent: Any = current_span()
    name = getattr(args[1], "__qualname__", type(args[1]).__qualname__)
    span = Span(f"InterpreterPoolExecutor/{name}", SpanKind.LOCAL).start_below(parent)
    try:
        future: Any = patch.original(*args, **kwargs)
    except BaseException as error:
        span.error(error).stop()
        raise
    future.add_done_callback(partial(_end, span))
    return future


def _end(span: Span, future: Any) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        span.error(error)
    span.stop()


def _wrap_start(take: Take, patch: Patch) -> Callable[..., object]:
    def start(self: threading.Thread, *args: object, **kwargs: object) -> object:
        block = _forgetting(patch) if _thread.submitting else take(patch)
        give_back = None if block is None else _lend_run(self, block)
        if give_back is None:
            return patch.original(self, *args, **kwargs)
        try:
            return patch.original(self, *args, **kwargs)
        except BaseException:
            # the system has none to spare, or it was started before
            give_back()
            raise

    return start


def _lend_run(thread: threading.Thread, block: Block) -> Callable[[], object] | None:
    """Let a thread run in a block; returns what takes that back, or None if the thread is of a foreign class.

    It is a method, since others that look after threads, such as Sentry, call the function of the method that they
    find. They may do so before us or after us.
    """
    former: Any = None

    @unseen
    def run(self: threading.Thread) -> None:
        give_back()
        with block:
            if former is None:
                type(self).run(self)
            else:
                former()

    def give_back() -> None:
        # thread and function no longer hold each other
        if getattr(own.get("run"), "__func__", None) is run:
            if former is None:
                del own["run"]
            else:
                own["run"] = former

    try:
        own = vars(thread)
        former = own.get("run")
        own["run"] = MethodType(run, thread)
    except Exception:  # noqa: BLE001, RUF100  (a thread of a foreign class)
        return None
    return give_back


def _take_nothing(_: Patch) -> None:
    """The agent is to carry nothing."""


def _take(patch: Patch) -> ContextSnapshot | None:
    """A snapshot of the active span; None where there is nothing to carry."""
    try:
        return capture() if patch.is_active and current_span() is not None else None
    except Exception:  # noqa: BLE001, RUF100  (ours, and it costs the application no thread)
        return None
