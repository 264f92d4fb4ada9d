"""Frames of other threads, read so that their threads do not go on meanwhile.

CPython 3.11 makes an object of a frame when it is asked for. Its memory may be what calls the garbage collector; that
calls finalizers and callbacks, and these let other threads run. The thread whose frame it is may leave it then, and the
object is of memory that is used for something else: sooner or later the process ends with a fault of memory. CPython's
issue 97002 shows the same within one thread, where it was mended. So the collector is off for the moment in which such
an object may be made. The steps of that are made in C, between which no other thread runs, so no other code sees it.

Python 3.10 has no such objects, and from 3.12 on the collector runs between two steps of bytecode only. Where a build
has no global lock, a frame of another thread cannot be read at all (CPython's issue 152355): there it has none.
"""

from __future__ import annotations

import gc
import sys
from _thread import get_ident
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any

_IS_LOCKED = getattr(sys, "_is_gil_enabled", lambda: True)


def current_frames() -> Mapping[int, FrameType]:
    """The innermost frame of each other thread, by its identity; none where there is no global lock."""
    if not _IS_LOCKED():
        return {}
    found: dict[int, FrameType] = _undisturbed(sys._current_frames)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    # that of this thread has them among its own variables: all would live on until the garbage collector comes
    found.pop(get_ident(), None)
    return found


def caller_of(frame: FrameType) -> FrameType | None:
    """The frame that called one."""
    caller: FrameType | None = read(frame, "f_back")
    return caller


if sys.version_info[:2] == (3, 11) and sys.implementation.name == "cpython":
    from operator import call  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]  (since 3.11)

    # those of the module now: one that the application puts in their place may be no function in C
    _is_on, _off, _on = gc.isenabled, gc.disable, gc.enable
    _call: Callable[[Callable[[], Any]], Any] = call  # pyright: ignore[reportUnknownVariableType]

    def _undisturbed(made: Callable[[], Any]) -> Any:
        """Call something in C that may make an object of a frame."""
        if not _is_on():
            return made()
        try:
            # one step of bytecode: `map` calls all four
            was_on, _, found, _ = map(_call, (_is_on, _off, made, _on))
        except BaseException:  # no memory
            _on()
            raise
        if not was_on:  # another thread has just switched it off
            _off()
        return found

    def read(owner: Any, name: str) -> Any:
        """An attribute of a frame or of a coroutine, which another thread may run; None where there is none."""
        return _undisturbed(partial(getattr, owner, name, None))

else:

    def _undisturbed(made: Callable[[], Any]) -> Any:
        return made()

    def read(owner: Any, name: str) -> Any:
        """An attribute of a frame or of a coroutine, which another thread may run; None where there is none."""
        return getattr(owner, name, None)
