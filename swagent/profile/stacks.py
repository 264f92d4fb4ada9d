"""The stack of a task or a thread as a profile shows it: one text a frame, and the task's state as the last.

The state is one of `[running]`, `[ready, loop busy]` and `[awaiting …]`: so the collector's own sums say how long a
request ran, had to wait for the loop, and waited for what.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import Context
from types import FrameType

from ..inspection.await_chain import Chain, chain_of, running_frames
from ..inspection.frames import frame_of
from ..inspection.installed_code import installed_folders
from ..inspection.lock_waits import name_of_lock_wait
from ..inspection.loop_view import LoopView, Task
from ..inspection.own_waits import name_of_own_wait
from ..record.limits import short
from ..record.trace.context import Active, active_span, current
from ..record.trace.model import SpanKind
from ..record.trace.outcome import name_of_task
from ..record.trace.span import Span
from ..thread_frames import caller_of

RUNNING = "[running]"
READY = "[ready, loop busy]"
_EXIT = SpanKind.EXIT


def task_stack(view: LoopView, task: Task, context: Context, depth: int) -> list[str]:
    """Where a task is, the outermost call first; empty: it has ended.

    :param context: the task's
    :param depth: how many frames at most; the innermost ones are kept
    """
    coroutine = coroutine_of(task)
    if view.running() is task:
        # the loop may go on between the two looks
        frames = running_frames(coroutine, frame_of(view.thread))
        if frames is not None and view.running() is task:
            return [*map(signature, frames[-depth:]), RUNNING]
    is_ready = view.is_ready(task)
    chain = chain_of(coroutine)
    if not chain.frames:
        return []
    state = READY if is_ready else f"[awaiting {name_awaited(chain, context)}]"
    return [*map(signature, chain.frames[-depth:]), state]


def coroutine_of(task: Task) -> object:
    """The coroutine that a task runs; None where it cannot be seen."""
    return task.get_coro() if hasattr(task, "get_coro") else getattr(task, "coro", None)


def thread_stack(frame: FrameType | None, depth: int) -> list[str]:
    """Where a thread is, the outermost call first.

    :param frame: its innermost
    """
    found: list[str] = []
    while frame is not None and len(found) < depth:
        found.append(signature(frame))
        frame = caller_of(frame)
    found.reverse()
    return found


def signature(frame: FrameType) -> str:
    """A frame in one line. No value of any variable is in it."""
    code = frame.f_code
    name: str = getattr(code, "co_qualname", code.co_name)
    return short(f"{frame.f_globals.get('__name__', '?')}.{name}:{frame.f_lineno}")


def name_awaited(chain: Chain, context: Context) -> str:
    """The place where a task waits: the call that is under way, or else the library's function that it is in."""
    return call_under_way(context) or name_of_end(chain.awaited, reversed(chain.frames))


def name_of_end(awaited: object, frames: Iterator[FrameType]) -> str:
    """The place where a task waits while no call is under way.

    :param frames: the innermost first
    """
    found = [*frames]
    own = name_of_own_wait(found) or name_of_lock_wait(found)
    if own:
        return own
    if hasattr(awaited, "get_coro"):
        return f"task {name_of_task(awaited)}"
    return _entrance(iter(found)) or type(awaited).__name__


def call_under_way(context: Context) -> str:
    """The exit span that is open in a context, with its peer; empty: none is."""
    return call_of(context.get(current))


def call_of(active: Active[Span] | None) -> str:
    """The same, by what is active in the context."""
    span = active_span(active)
    return short(f"{span.name} {span.peer}".strip()) if isinstance(span, Span) and span.kind is _EXIT else ""


def _entrance(frames: Iterator[FrameType]) -> str:
    """The function by which the application's code, or another library, entered the innermost library. Empty: the
    innermost frame is the application's own, or there is none."""
    entrance = next(frames, None)
    if entrance is None or not entrance.f_code.co_filename.startswith(installed_folders()):
        return ""
    package = _package(entrance)
    for frame in frames:
        if _package(frame) != package:
            break
        entrance = frame
    code = entrance.f_code
    return short(f"{package}.{getattr(code, 'co_qualname', code.co_name)}")


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?")).partition(".")[0]
