"""The agent's own log lines: few, on the logger `swagent`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger("swagent")

_QUIET = 30.0


class LimitedLog:
    """At most one line per reason in 30 seconds; the next one says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}
        self._held: dict[str, int] = {}

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
        held = self._held.pop(reason, 0)
        log.warning(message + (f" ({held} more like it since)" if held else ""), *args)
