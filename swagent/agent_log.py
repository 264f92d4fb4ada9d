"""The agent's own log lines: few, on the logger `swagent`.

An application's handler may wait for the application: for example, it sends each line to a server in the same process.
So no line is logged while an application's thread waits for the agent to start. If a request starts the agent, the
agent's own thread logs the lines of the start, and the line that says that the agent runs.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial

from .forks import at_fork
from .system_thread import SystemThread

log = logging.getLogger("swagent")

_QUIET = 30.0
_lowered = False


class RateLimitedLog:
    """At most one warning per reason in 30 seconds, and one line when it is over; the next line says how many were left
    out. Never raises."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}
        self._held: dict[str, int] = {}
        self._announced: set[str] = set()

    def warn(self, reason: str, message: str, *args: object) -> None:
        """Log a warning, unless one for the same reason went out just now.

        :param reason: one of a few fixed words, never text from outside
        """
        now = self._clock()
        last = self._last.get(reason)
        if last is not None and now - last < _QUIET:
            self._held[reason] = self._held.get(reason, 0) + 1
            return
        self._last[reason] = now
        self._announced.add(reason)
        held = self._held.pop(reason, 0)
        say(logging.WARNING, message + (f" ({held} more like it since)" if held else ""), *args)

    def over(self, reason: str, message: str, *args: object) -> None:
        """Log that it is over, if a warning said that it began. Otherwise it goes to the debug level."""
        if reason not in self._announced:
            say(logging.DEBUG, message, *args)
            return
        self._announced.discard(reason)
        held = self._held.pop(reason, 0)
        say(logging.INFO, message + (f", after {held} more failures" if held else ""), *args)


def lower_news(is_lower: bool) -> None:
    """Have the lines at INFO go to the debug level, or not. A command that is no server may print what `logging` gets,
    as pip does, and then a line of ours would be a part of its output."""
    global _lowered  # noqa: PLW0603, RUF100
    _lowered = is_lower


def say(level: int, message: str, *args: object, exc_info: BaseException | None = None) -> None:
    """Log one line. Never raises: the application's handlers may, and the standard one does where stderr is closed."""
    held = _held  # another thread may end the block
    if held is not None:
        held.append(partial(_log, level, message, *args, exc_info=exc_info))
    else:
        _log(level, message, *args, exc_info=exc_info)


@contextmanager
def held_back(in_thread: bool) -> Generator[None, None, None]:
    """Log no line in this block, but at its end. For one thread at a time.

    :param in_thread: whether the agent's own thread logs the lines then; otherwise the calling thread does
    """
    global _held  # noqa: PLW0603, RUF100
    if _held is not None:
        yield  # a finaliser or a signal handler, amid another block
        return
    lines: list[Callable[[], object]] = []
    _held = lines
    try:
        yield
    finally:
        _held = None
        if lines and in_thread:
            do_in_thread(partial(_do_all, lines))
        else:
            _do_all(lines)


def do_in_thread(write: Callable[[], object]) -> None:
    """Write a line in a thread of the agent; in the calling thread, if the system has no thread to spare.

    :param write: must not raise
    """
    global _writer  # noqa: PLW0603, RUF100
    writer = SystemThread(write, "swagent log")
    try:
        writer.start()
    except RuntimeError:
        write()
        return
    if _writer is None:
        atexit.register(_finish)
    _writer = writer


_held: list[Callable[[], object]] | None = None
_writer: SystemThread | None = None
_LONGEST_WRITING = 1.0  # seconds, at the end of the process


def _finish() -> None:
    if _writer is not None and _writer.is_alive():
        _writer.join(_LONGEST_WRITING)


def _forget_in_child() -> None:
    """Another thread of the parent may have been in a block."""
    global _held  # noqa: PLW0603, RUF100
    _held = None


at_fork(after_in_child=_forget_in_child)


def _do_all(lines: list[Callable[[], object]]) -> None:
    for line in lines:
        line()


def _log(level: int, message: str, *args: object, exc_info: BaseException | None = None) -> None:
    with suppress(Exception):
        level = logging.DEBUG if _lowered and level == logging.INFO else level
        log.log(level, message, *args, exc_info=exc_info)
