"""uvicorn's protocol, with an end to the number of connections, and to the time for a request's head."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256
"""To one port."""
HEAD_SECONDS = 20.0
"""For the head of a request, from its connection or its first byte on."""


class BoundedProtocol(H11Protocol):
    """One connection."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or close it where there are too many."""
        connection = cast("asyncio.Transport", transport)
        super().connection_made(connection)
        if len(self.connections) > MAX_CONNECTIONS:
            connection.abort()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, and note whether a head is under way."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._watch()
        else:
            self._relax()

    def _watch(self) -> None:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(HEAD_SECONDS, self.transport.abort)

    def _relax(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
