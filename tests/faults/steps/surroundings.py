"""What an agent may touch of its process, before and after it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sniffio

from runtime.worlds import _tasks
from swagent.record import tracer as tracers

# trio keeps its threads for ten seconds
_SPARE = "Trio thread"


def touched() -> dict[str, Any]:
    """All of it, as it is now."""
    return {
        "threads": sorted(each.name for each in threading.enumerate() if not each.name.startswith(_SPARE)),
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
        left = {name: now[name] for name, value in before.items() if now[name] != value}
        assert not left, f"left behind: {left}"
        assert not _tasks() - tasks, f"left behind: {_tasks() - tasks}"


@contextmanager
def _unheard() -> Iterator[None]:
    if sniffio.current_async_library() != "asyncio":
        yield
        return
    heard: list[Any] = []
    loop = asyncio.get_running_loop()
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    try:
        yield
    finally:
        loop.set_exception_handler(handler)
    assert not heard, f"the application's exception handler heard of {heard}"


def descriptors() -> int:
    """How many files the process has open."""
    return len(os.listdir("/proc/self/fd"))
