"""The watch over open segments: one that the application does not finish is sent in time.

It sleeps as long as there are none; the first one wakes it.
"""

from __future__ import annotations

import anyio

from ..backend import loop_notifier
from ..record.trace.tracer import Tracer

# Seconds between two looks.
PERIOD = 1.0


class SegmentWatch:
    """One agent's."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    async def run(self) -> None:
        """Finish overdue segments until it is cancelled."""
        while True:
            await self._wait_for_first()
            is_any = True
            while is_any:
                await anyio.sleep(PERIOD)
                is_any = self._tracer.finish_overdue_segments()

    async def _wait_for_first(self) -> None:
        is_there, notify = anyio.Event(), loop_notifier()
        self._tracer.wake_when_watching(lambda: notify(is_there.set))
        # one may have come before that
        if not self._tracer.open_segments:
            await is_there.wait()
