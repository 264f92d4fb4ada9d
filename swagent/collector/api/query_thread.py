"""Runs the queries of the page in a thread, so that the loop goes on with the intake.

A query keeps the database for a few milliseconds at a time (`pieces`), and gives it to the intake in between
(`FairLock`). While the query computes, the interpreter lets the loop run after 5 ms at most (`sys.getswitchinterval`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

T = TypeVar("T")


class QueryThread:
    """One query at a time, in the order in which they come. asyncio or trio."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)

    async def run(self, query: Callable[[], T]) -> T:
        """Run a query; returns what it returns, and raises what it raises.

        Cancelled before the query's turn, it ends at once. Cancelled later, it ends when the query comes to its next
        `stop_if_cancelled`.
        """
        return await anyio.to_thread.run_sync(query, limiter=self._limiter)
