"""A bell of the reader of a channel, for the loop that it lives on."""

from __future__ import annotations

import anyio


class Doorbell:
    """Carries the news that something may be due; ringing twice is ringing once.

    It holds nothing that has to be closed in its loop. A forked child has no such loop any more, and the warnings of
    anyio's streams about it would reach the application.
    """

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        """Wake the reader, or let its next wait return at once. In the loop only."""
        self._rung.set()

    async def wait(self) -> None:
        """Wait for a ring, and take it. A cancelled wait leaves it."""
        await self._rung.wait()
        self._rung = anyio.Event()
