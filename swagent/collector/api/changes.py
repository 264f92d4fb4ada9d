"""Notifies the page of changes by server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial

import anyio

from ..store.database import StoreError
from ..store.store import Store

INTERVAL = 0.25
"""Seconds between two events, at least."""
SILENCE = 15.0
"""Seconds without an event after which a comment shows that the connection is alive."""


class Changes:
    """The streams of one server's life."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_over = False

    def open(self) -> None:
        """Let streams run, again."""
        self._is_over = False

    def end(self) -> None:
        """End every stream."""
        self._is_over = True
        self._store.wake()

    async def stream(self) -> AsyncIterator[str]:
        """Events for one client: the state at once, then whenever it has changed."""
        version = -1
        while not self._is_over:
            if await self._store.wait_until(partial(self._is_news, version), SILENCE):
                version = self._store.version
                try:
                    yield self._event(version)
                except StoreError as error:
                    yield f": {error}\n\n"
                await anyio.sleep(INTERVAL)  # a limit to the rate, not a wait for something
            else:
                yield ": still here\n\n"

    def _is_news(self, version: int) -> bool:
        return self._is_over or self._store.version != version

    def _event(self, version: int) -> str:
        counts = self._store.counts()
        data = {"version": version, **{name: counts[name] for name in ("segments", "logs", "meters")}}
        return f"event: changed\ndata: {json.dumps(data)}\n\n"
