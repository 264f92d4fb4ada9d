"""Which request a worker thread of a pool works for: that in whose context the pool runs what it was given.

Nobody can ask a thread for its context. The pools of anyio, asyncio and trio have it at hand in a frame of theirs.
"""

from __future__ import annotations

import functools
from contextvars import Context
from types import FrameType
from typing import Any

# The function that runs the work, and the end of its file's name.
_WORKERS = (
    ("run", "_asyncio.py"),
    ("run", "thread.py"),
    ("worker_fn", "_threads.py"),
)
_MAX_FRAMES = 500


def context_of_work(frame: FrameType | None) -> Context | None:
    """The context of what a thread works on; None where it is no such worker.

    :param frame: the thread's innermost
    """
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        code = frame.f_code
        if any(code.co_name == name and code.co_filename.endswith(file) for name, file in _WORKERS):
            found = _context_in(frame.f_locals)
            if found is not None:
                return found
        frame = frame.f_back
    return None


def _context_in(names: Any) -> Context | None:
    context = names.get("context")
    if isinstance(context, Context):  # anyio, trio
        return context
    # concurrent.futures; another attribute from Python 3.14 on
    item = names.get("self")
    work = getattr(item, "fn", None) or next(iter(getattr(item, "task", None) or ()), None)
    if isinstance(work, functools.partial):
        owner = getattr(work.func, "__self__", None)
        return owner if isinstance(owner, Context) else None
    return None
