"""Room in the channel, for producers that wait for it.

An application never waits for the agent: a full channel refuses. A producer that is faster than any collector would
therefore measure how fast records are refused. Here producers take their share of the channel before they record, and
get it back when the collector has acknowledged: nothing is refused, and the channel is as full as it can be.
"""

from __future__ import annotations

from collections import deque

import anyio
import anyio.lowlevel


class Room:
    """So many records may be on their way. One event loop's; first come, first served."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._waiting: deque[tuple[int, anyio.Event]] = deque()

    async def take(self, count: int) -> None:
        """Wait for room for so many records; without any wait it still lets others have their turn."""
        if self._waiting or self._left < count:
            granted = anyio.Event()
            self._waiting.append((count, granted))
            await granted.wait()
            return
        self._left -= count
        await anyio.lowlevel.checkpoint()

    def give(self, count: int) -> None:
        """So many records have left."""
        self._left += count
        while self._waiting and self._waiting[0][0] <= self._left:
            taken, granted = self._waiting.popleft()
            self._left -= taken
            granted.set()
