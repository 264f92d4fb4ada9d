"""The time that something took, less what a busy machine added to it.

On a virtual clock it is that clock's, and exact.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from kit.virtual_time import is_virtual, virtual_now

_TASKS = Path("/proc/self/task")


class Stopwatch:
    """Runs from its creation."""

    def __init__(self) -> None:
        self._is_virtual = is_virtual()
        self._now = virtual_now if self._is_virtual else time.monotonic
        self._began = self._now()
        self._waited = _waited()

    @property
    def seconds(self) -> float:
        """Since the beginning, by the clock."""
        return self._now() - self._began

    @property
    def own_seconds(self) -> float:
        """Without those in which threads of this process were ready and no processor was free.

        For upper bounds alone: threads that waited side by side are all taken off, and what those waited that have
        ended meanwhile is not. Where the machine does not say (it is not Linux), the same as :attr:`seconds`.
        """
        if self._is_virtual:
            return self.seconds
        return self.seconds - sum(waited - self._waited.get(thread, 0.0) for thread, waited in _waited().items())


def _waited() -> dict[str, float]:
    """How long each thread that lives now has waited for a processor in its life, in seconds.

    The second number of schedstat: https://docs.kernel.org/scheduler/sched-stats.html
    """
    found = {}
    with suppress(FileNotFoundError):
        for thread in _TASKS.iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return found
