"""An application that closes all descriptors, as a daemon does at its start, closes those of the agent's loop as well.

uvloop aborts the process when its selector is gone, and asyncio and trio end with an error. So `os.closerange` is
replaced for as long as an agent has a thread: before descriptors are closed, the agent stops, and afterwards another
one starts with new ones. It is not known which descriptors a loop has opened, so any open one in the range counts.

`os.close` stays as it is: it is called too often.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..record.logs.patch import Patch

_MOST = 2**31 - 1


class ClosedDescriptors:
    """Stops something for the time in which the application closes descriptors.

    :param stop: called before, in the thread that closes them, with the range; it returns what starts it again, or None
        where there is nothing to stop. Neither may raise
    """

    def __init__(self, stop: Callable[[int, int], Callable[[], object] | None]) -> None:
        self._stop = stop
        self._patch = Patch(os, "closerange", self._wrap)

    def attach(self) -> None:
        """Put the replacement in place. A second call does nothing."""
        self._patch.apply()

    def detach(self) -> None:
        """Take it out. A second call does nothing."""
        self._patch.remove()

    def _wrap(self, patch: Patch) -> Callable[..., Any]:
        def closerange(fd_low: int, fd_high: int, /) -> Any:
            start = self._stop_before(patch, fd_low, fd_high)
            try:
                return patch.original(fd_low, fd_high)
            finally:
                if start is not None:
                    start()

        return closerange

    def _stop_before(self, patch: Patch, low: Any, high: Any) -> Callable[[], object] | None:
        # with other arguments it fails
        if patch.is_active and type(low) is type(high) is int and high <= _MOST and _has_open(low, high):
            return self._stop(low, high)
        return None


def _has_open(low: int, high: int) -> bool:
    """Whether any descriptor of the range is open."""
    try:
        return any(low <= int(name) < high for name in os.listdir("/proc/self/fd"))
    except OSError:  # a system without it, or a process without a descriptor to spare
        return True
