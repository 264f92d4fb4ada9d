"""Finds the request for which a worker thread of a pool works: the pool runs a call in the context of the request. And
the future of its work.

No thread can be asked for its context. The pools of anyio, asyncio and trio have it at hand in a frame of theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from concurrent.futures import Future
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
    for work in _works(frame):
        found = _context_in(work)
        if found is not None:
            return found
    return None


def future_of_work(frame: FrameType | None) -> Future[Any] | None:
    """The future of a piece of work that a thread of concurrent.futures does in that thread's own context, which the
    next piece of work has as well; None where it is no such thread.

    :param frame: as above
    """
    for work in _works(frame):
        future = asyncio_inside.FUTURE_OF_ITEM.of(work)
        if isinstance(future, Future):
            # pyright takes the future of an Any for one of something unknown
            return None if _context_in(work) is not None else future  # pyright: ignore[reportUnknownVariableType]
    return None


def _works(frame: FrameType | None) -> Iterator[Any]:
    """What the workers on a stack work on, the innermost first."""
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        worker = _WORKERS.get(place_of(frame))
        if worker is not None:
            yield worker.of(frame)
        frame = caller_of(frame)


def _context_in(found: Any) -> Context | None:
    """Of anyio and trio the context itself, of concurrent.futures an item whose work may be bound to one."""
    if isinstance(found, Context):
        return found
    work = asyncio_inside.WORK_OF_ITEM.of(found) or next(iter(asyncio_inside.TASK_OF_ITEM.of(found) or ()), None)
    if isinstance(work, functools.partial):
        owner = getattr(work.func, "__self__", None)
        return owner if isinstance(owner, Context) else None
    return None
