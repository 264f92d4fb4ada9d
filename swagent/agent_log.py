"""The agent's own log lines: few, on the logger `swagent`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

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
    with suppress(Exception):
        level = logging.DEBUG if _lowered and level == logging.INFO else level
        log.log(level, message, *args, exc_info=exc_info)
