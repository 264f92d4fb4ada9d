"""The report of a blocked loop: the task that held it, the place in the code, and the requests that had to wait."""

from __future__ import annotations

from types import FrameType
from typing import NamedTuple, cast

from ..inspection.installed_code import installed_folders
from ..inspection.loop_view import Task, context_of
from ..record.limits import MAX_FRAMES, short, stack_text
from ..record.trace.context import active_span, current
from ..record.trace.span import Span
from ..thread_frames import caller_of

BLOCKED = "loop.blocked"


class Place(NamedTuple):
    """Where a thread is."""

    frame: str
    """The innermost function of the application's own code: file, line and name."""
    stack: str
    """Every function, one a line, the innermost last."""


class Block(NamedTuple):
    """A time in which a loop did not turn."""

    ended_at: float
    """Seconds since the epoch."""
    seconds: float
    frame: str
    """Where it was held for longest."""


def place_of(frame: FrameType | None) -> Place:
    """Where a thread is, by its innermost frame."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = caller_of(frame)
    if not frames:
        return Place("", "")
    foreign = (*installed_folders(), "<")
    own = next((each for each in frames if not each.f_code.co_filename.startswith(foreign)), frames[0])
    name = f"{own.f_code.co_filename}:{own.f_lineno} {own.f_code.co_name}"
    kept = [(each, each.f_lineno) for each in reversed(frames[:MAX_FRAMES])]
    return Place(short(name), stack_text(kept, is_cut=len(kept) < len(frames)))


def span_of(task: Task | None) -> Span | None:
    """The active span of a task; None: there is none that is recorded."""
    context = context_of(task) if task is not None else None
    entry = active_span(context.get(current)) if context is not None else None
    span: Span | None = entry.to_span() if entry is not None else None
    return span if span is not None and span.is_recorded else None


def request_of(span: Span) -> Span | None:
    """The open span that a span's segment began with."""
    segment = span.segment
    return cast("Span | None", segment.root if segment is not None else None)


def add_time(span: Span, key: str, seconds: float, tagged: float = 0.0) -> None:
    """Add milliseconds to a tag of a span that is open.

    :param tagged: how many of these seconds are in the tag already
    """
    if span.ended:
        return
    tags = span.tags
    for place, (name, value) in enumerate(tags):
        if name == key:
            tags[place] = (key, _milliseconds(float(value) / 1000 + seconds - tagged))
            return
    span.tag(key, _milliseconds(seconds))


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))
