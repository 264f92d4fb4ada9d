"""A bell of the reader of a channel, for the loop that it lives on."""

from __future__ import annotations

import anyio


class Doorbell:
    """Carries the news that something may be due; ringing twice is ringing once.

    It holds nothing of the loop's that would have to be closed: in a forked child there is no loop any more that could,
    and what anyio's streams say of not being closed would reach the application.
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
