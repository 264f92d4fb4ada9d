"""Where a coroutine is: the frames from its outermost call to what it awaits, while it does not run.

A coroutine that waits has no thread, so its frames hang on what each of them awaits. Python shows most of these links.
Those that it hides are found by the garbage collector: what an object of these few types refers to. SQLAlchemy's async
sessions go through a greenlet, whose frames hang on the greenlet.

All of it is read from another thread, so a chain may move meanwhile. Then it is cut short.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import CoroutineType, FrameType
from typing import Any, NamedTuple

from ..thread_frames import caller_of, read
from . import sqlalchemy_inside

MAX_FRAMES = 500
# The attributes of the frame and of the awaited object: in coroutines, asynchronous generators and generators.
_LINKS = (("cr_frame", "cr_await"), ("ag_frame", "ag_await"), ("gi_frame", "gi_yieldfrom"))
# Between two of these there may be an object that shows neither.
WRAPPERS = frozenset({
    "coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable", "FutureIter",
})  # fmt: skip


class Chain(NamedTuple):
    """The frames of a coroutine, and what the innermost one awaits."""

    frames: list[FrameType]
    """The outermost first."""
    awaited: Any
    """None: nothing is known of it."""


def chain_of(coroutine: Any) -> Chain:
    """The chain of a coroutine that does not run now."""
    frames: list[FrameType] = []
    at = coroutine
    for _ in range(2 * MAX_FRAMES):
        if at is None or len(frames) >= MAX_FRAMES:
            break
        link = next((link for link in _LINKS if hasattr(at, link[1])), None)
        if link is not None:
            frame: FrameType | None = read(at, link[0])
            if frame is not None:
                frames.append(frame)
                frames += _greenlet_frames(frame)
            at = getattr(at, link[1], None)
        elif type(at).__name__ in WRAPPERS:
            at = _wrapped(at)
        else:
            break
    return Chain(frames, at)


class Links(NamedTuple):
    """The coroutines of a chain, and what the innermost one awaits."""

    coroutines: list[Any]
    """The outermost first. Generators are among them."""
    awaited: Any

    def frames(self) -> Iterator[FrameType]:
        """As those of `chain_of`, the innermost first, in the thread that runs them. A frame is an object that is made
        when it is asked for, so a caller that needs few asks for few."""
        for each in reversed(self.coroutines):
            frame = each.cr_frame if type(each) is CoroutineType else _frame_of(each)
            if frame is not None:
                yield from reversed(_greenlet_frames(frame))
                yield frame


def links_of(coroutine: Any) -> Links:
    """As `chain_of`, without a frame."""
    found: list[Any] = []
    at = coroutine
    for _ in range(2 * MAX_FRAMES):
        if type(at) is CoroutineType:  # as most are
            found.append(at)
            at = at.cr_await
            continue
        link = next((link for link in _LINKS if hasattr(at, link[1])), None)
        if link is not None:
            found.append(at)
            at = getattr(at, link[1], None)
        elif type(at).__name__ in WRAPPERS:
            at = _wrapped(at)
        else:
            break
    return Links(found, at)


def running_frames(coroutine: Any, innermost: FrameType | None) -> list[FrameType] | None:
    """The frames of a coroutine that runs now, the outermost first. None: it does not.

    :param innermost: where its thread is
    """
    root = _frame_of(coroutine)
    frames: list[FrameType] = []
    frame = innermost
    while frame is not None and frame is not root:
        frames.append(frame)
        frame = caller_of(frame)
    if root is None or (not frames and frame is None):
        return None
    if frame is None and frames[-1].f_code.co_name in ("<module>", "_bootstrap"):
        return None
    # a greenlet's stack ends where the greenlet began, and nothing leads from there to the coroutine
    frames.append(root)
    frames.reverse()
    return frames


def _frame_of(coroutine: Any) -> FrameType | None:
    """Its own; None: it has ended."""
    return next((frame for link in _LINKS if (frame := read(coroutine, link[0])) is not None), None)


def _wrapped(wrapper: Any) -> Any:
    """The awaitable that a wrapper delegates to."""
    for each in gc.get_referents(wrapper):
        if hasattr(each, "add_done_callback") or any(hasattr(each, link[1]) for link in _LINKS):
            return each
    return None


def _greenlet_frames(frame: FrameType) -> list[FrameType]:
    """The frames of the greenlet that SQLAlchemy runs below this frame."""
    if frame.f_code.co_name != sqlalchemy_inside.NAME:
        return []
    at: FrameType | None = sqlalchemy_inside.FRAME_OF_GREENLET.of(sqlalchemy_inside.GREENLET.of(frame))
    frames: list[FrameType] = []
    while at is not None and len(frames) < MAX_FRAMES:
        frames.append(at)
        at = caller_of(at)
    frames.reverse()
    return frames
