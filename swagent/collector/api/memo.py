"""Keeps the answers to long queries, so that a page which asks at every change does not starve the intake."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from ..store.store import Store

SHARE = 5.0
"""For how many times the seconds that it took an answer stays valid, though the store has changed."""


class Memo:
    """One query's last answer."""

    def __init__(self, store: Store, query: Callable[[], Awaitable[Any]]) -> None:
        self._store = store
        self._query = query
        self._answer: Any = None
        self._version = -1
        self._again = 0.0
        self._turn = anyio.Lock()

    async def ask(self) -> Any:
        """The answer for what the store holds now. It waits if the last answer was made a moment ago."""
        async with self._turn:
            if self._version != self._store.version:
                await anyio.sleep(
                    max(self._again - time.monotonic(), 0.0)
                )  # a share of the time, not a wait for something
                began, version = time.monotonic(), self._store.version
                self._answer = await self._query()
                self._version = version
                now = time.monotonic()
                self._again = now + (now - began) * SHARE
            return self._answer
