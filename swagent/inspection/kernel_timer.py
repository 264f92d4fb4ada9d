"""A timer of the kernel's that wakes a waiting thread. To set it anew, or to clear it, wakes nothing.

Linux has such timers. Python has them from 3.13 on; before, the C library is asked by the two names that are here.
"""

from __future__ import annotations

import os
import select
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

_NANOSECONDS = 1_000_000_000
Set = Callable[[], object]
# by which our timers differ from those of the application: hardly any program takes this clock
_CLOCK = 7  # CLOCK_BOOTTIME
_MARK = b"clockid: 7\n"


class KernelTimer:
    """One timer, for one thread that waits, and any that set it."""

    def __init__(self) -> None:
        """:raises Exception: this system has none"""
        self._poll = select.poll()  # first: some patch it away
        self._descriptor, self._setter = _of_python() if hasattr(os, "timerfd_create") else _of_c_library()
        self._poll.register(self._descriptor, select.POLLIN)
        if not self._is_here():
            os.close(self._descriptor)
            raise NotImplementedError("it cannot be seen whether the application has closed a timer")

    def setter(self, seconds: float) -> Set:
        """A function, for any thread, that lets the timer wake the waiting thread after so many seconds, and not when
        it was to be woken before; 0: not at all. It never raises. If the application has closed the timer, it does
        nothing."""
        return self._setter(self._descriptor, seconds)

    def wait(self, longest: float) -> bool:
        """Wait until the time has come; whether it has. Blocks.

        :param longest: seconds
        :raises OSError: the application has closed the timer
        """
        found = self._poll.poll(longest * 1000)
        if not self._is_here():
            raise OSError("the timer was closed")
        return bool(found)

    def close(self) -> None:
        """Give it back, if the application has not done that. Changes nothing for the parent of a forked process."""
        if self._is_here():
            os.close(self._descriptor)

    def _is_here(self) -> bool:
        """Whether the descriptor is our timer still: a file or a timer of the application's may have its number."""
        with suppress(OSError), open(f"/proc/self/fdinfo/{self._descriptor}", "rb") as file:
            return _MARK in file.read()
        return False


def _of_python() -> tuple[int, Callable[[int, float], Set]]:
    # with sys.version_info, type checkers know the names
    if sys.platform != "linux" or sys.version_info < (3, 13):
        raise NotImplementedError("no timer of the kernel's")

    def setter(descriptor: int, seconds: float) -> Set:
        set_time = os.timerfd_settime

        def set_timer() -> None:
            with suppress(OSError):
                set_time(descriptor, initial=seconds)

        return set_timer

    return os.timerfd_create(_CLOCK, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC), setter


def _of_c_library() -> tuple[int, Callable[[int, float], Set]]:
    import ctypes  # noqa: PLC0415, RUF100  (nothing at start needs it)

    if struct.calcsize("l") != struct.calcsize("q"):
        raise NotImplementedError("the width of the C library's times is not known")
    # it keeps the interpreter's lock: the calls take less than a microsecond
    library = ctypes.PyDLL(None, use_errno=True)
    create, set_time = library.timerfd_create, library.timerfd_settime
    set_time.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

    def setter(descriptor: int, seconds: float) -> Set:
        whole = int(seconds)
        spec = struct.pack("4l", 0, 0, whole, int((seconds - whole) * _NANOSECONDS))
        return partial(set_time, descriptor, 0, spec, None)

    # the flags of a timer are those of any descriptor
    descriptor = create(_CLOCK, os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "no timer can be made")
    return descriptor, setter
