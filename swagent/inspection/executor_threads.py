"""Finds the request for which a worker thread of a pool works: the pool runs a call in the context of the request.

No thread can be asked for its context. The pools of anyio, asyncio and trio have it at hand in a frame of theirs.
"""

from __future__ import annotations

import functools
from contextvars import Context
from types import FrameType
from typing import Any

from ..thread_frames import caller_of
from . import anyio_inside, asyncio_inside, trio_inside
from .frames import place_of

_MAX_FRAMES = 500
_WORKERS = {
    each.place: each
    for each in (anyio_inside.CONTEXT_OF_WORK, asyncio_inside.ITEM_OF_WORK, trio_inside.CONTEXT_OF_WORK)
}


def context_of_work(frame: FrameType | None) -> Context | None:
    """The context of what a thread works on; None where it is no such worker.

    :param frame: the thread's innermost
    """
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        worker = _WORKERS.get(place_of(frame))
        if worker is not None:
            found = _context_in(worker.of(frame))
            if found is not None:
                return found
        frame = caller_of(frame)
    return None


def _context_in(found: Any) -> Context | None:
    """Of anyio and trio the context itself, of concurrent.futures an item whose work may be bound to one."""
    if isinstance(found, Context):
        return found
    work = asyncio_inside.WORK_OF_ITEM.of(found) or next(iter(asyncio_inside.TASK_OF_ITEM.of(found) or ()), None)
    if isinstance(work, functools.partial):
        owner = getattr(work.func, "__self__", None)
        return owner if isinstance(owner, Context) else None
    return None
