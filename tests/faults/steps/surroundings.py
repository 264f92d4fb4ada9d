"""The parts of its process that an agent may touch, before and after it."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sniffio

from kit.thread_names import thread_names
from runtime.worlds import _tasks
from swagent.record.trace import tracer as tracers

# trio keeps its threads for ten seconds
_SPARE = "Trio thread"


def touched() -> dict[str, Any]:
    """All of it, as it is now."""
    return {
        "threads": Counter(each for each in thread_names() if not each.startswith(_SPARE)),
        "logging": [getattr(logging.Logger, name) for name in ("handle", "callHandlers", "makeRecord")],
        "handlers": list(logging.root.handlers),
        "record factory": logging.getLogRecordFactory(),
        "gc": list(gc.callbacks),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, *sys.get_asyncgen_hooks()),
        "tracer": tracers.running(),
    }


@contextmanager
def nothing_is_left() -> Iterator[None]:
    """No task, thread, wrapped logger, hook or callback is left, and the loop's exception handler has heard nothing."""
    before, tasks = touched(), _tasks()
    with _unheard():
        yield
        now = touched()
        # a thread of another test's may have ended
        now["threads"] = before["threads"] | now["threads"]
        left = {name: now[name] for name, value in before.items() if now[name] != value}
        assert not left, f"left behind: {left}"
        assert not _tasks() - tasks, f"left behind: {_tasks() - tasks}"


@contextmanager
def only_abandoned() -> Iterator[None]:
    """The loop's exception handler has heard of nothing but futures that are no longer awaited: a fault that comes
    out of an `await` leaves what was awaited behind, to fail by itself when the connection does."""
    with _heard() as heard:
        yield
    others = [each for each in heard if not each["message"].endswith("exception was never retrieved")]
    assert not others, f"the application's exception handler heard of {others}"


@contextmanager
def _unheard() -> Iterator[None]:
    with _heard() as heard:
        yield
    assert not heard, f"the application's exception handler heard of {heard}"


@contextmanager
def _heard() -> Iterator[list[dict[str, Any]]]:
    """The calls of the loop's exception handler meanwhile; trio has none."""
    heard: list[dict[str, Any]] = []
    if sniffio.current_async_library() != "asyncio":
        yield heard
        return
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    try:
        yield heard
    finally:
        loop.set_exception_handler(handler)
