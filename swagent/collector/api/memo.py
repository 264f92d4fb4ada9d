"""Keeps the answers to long queries, so that a page which asks at every change neither waits nor keeps the query thread
busy."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from ..store.database import StoreError
from ..store.store import Store
from .encoding import encode
from .query_thread import QueryThread

_LOG = logging.getLogger("swagent.collector")
SHARE = 80.0
"""How many times the seconds that an answer took the next one waits, though the store has changed: with several of them
an open page takes a few percent of a processor."""
LONGEST = 30.0
"""Seconds that it waits at most."""


def rest_after(began: float, ended: float) -> float:
    """When an answer may be made again, by the times at which making the last one began and ended."""
    return ended + min((ended - began) * SHARE, LONGEST)


class Memo:
    """One query's last answer, encoded. asyncio only."""

    def __init__(
        self,
        store: Store,
        thread: QueryThread,
        query: Callable[[], Mapping[str, Any] | None],
        at_once: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param query: called in the thread
        :param at_once: seconds; an answer that took less is worth the wait for a new one, once the store has changed
        :param clock: seconds
        """
        self._store = store
        self._thread = thread
        self._query = query
        self._at_once = at_once
        self._clock = clock
        self._answer: bytes | None = None
        self._version = -1
        self._took = 0.0
        self._again = 0.0
        self._refreshing: asyncio.Task[None] | None = None
        self._turn = anyio.Lock()

    async def ask(self) -> bytes:
        """The last answer, at once; if the store has changed since, the next one is made meanwhile. Only the first
        call waits for an answer, and others where that takes no time worth mentioning. Each answer contains its
        version, so the page sees that it is old.

        :raises StoreError: when there is no answer yet, and the store cannot be read
        """
        async with self._turn:
            answer = self._answer
            if answer is None or (self._took < self._at_once and self._version != self._store.version):
                answer = await self._make()
        if self._version != self._store.version and self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh())
        return answer

    async def _refresh(self) -> None:
        try:
            await asyncio.sleep(max(self._again - self._clock(), 0.0))  # a share of the time, not a wait
            await self._make()
        except StoreError as error:
            _LOG.warning("%s", error)
        finally:
            self._refreshing = None

    async def _make(self) -> bytes:
        began, version = self._clock(), self._store.version
        answer = self._answer = await self._thread.run(lambda: encode(self._query() or {}))
        self._version = version
        ended = self._clock()
        self._took = ended - began
        self._again = rest_after(began, ended)
        return answer
