"""Keeps the answers to long queries, so that a page which asks at every change neither waits nor starves the intake."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from ..store.database import StoreError
from ..store.store import Store

_LOG = logging.getLogger("swagent.collector")
SHARE = 5.0
"""How many times the seconds that an answer took the next one waits, though the store has changed."""


class Memo:
    """One query's last answer. asyncio only."""

    def __init__(self, store: Store, query: Callable[[], Awaitable[Any]]) -> None:
        self._store = store
        self._query = query
        self._answer: Any = None
        self._version = -1
        self._again = 0.0
        self._refreshing: asyncio.Task[None] | None = None
        self._turn = anyio.Lock()

    async def ask(self) -> Any:
        """The last answer, at once; if the store has changed since, the next one is made meanwhile. Who asks
        first waits for it. An answer tells its version, so who asks sees that it is old.

        :raises StoreError: when there is no answer yet, and the store cannot be read
        """
        async with self._turn:
            if self._answer is None:
                await self._make()
        if self._version != self._store.version and self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh())
        return self._answer

    async def _refresh(self) -> None:
        try:
            await asyncio.sleep(max(self._again - time.monotonic(), 0.0))  # a share of the time, not a wait
            await self._make()
        except StoreError as error:
            _LOG.warning("%s", error)
        finally:
            self._refreshing = None

    async def _make(self) -> None:
        began, version = time.monotonic(), self._store.version
        self._answer = await self._query()
        self._version = version
        now = time.monotonic()
        self._again = now + (now - began) * SHARE
