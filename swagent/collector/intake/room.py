"""How much may be under way at once: memory for what has not arrived in full, and time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio

MAX_BODY = 16 * 1024 * 1024
"""Bytes of one request over HTTP, or of one message over gRPC."""
BODY_SECONDS = 20.0
"""For a request, or a message, from its first byte to its last."""
_SHARED = 64 * 1024 * 1024
_FREE = 64 * 1024


class NoRoomError(Exception):
    """Too much is under way."""


class Hold:
    """The room that one request takes."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._size = 0

    def grow(self, size: int) -> None:
        """Let it take that many bytes in all, or leave it as it is where it takes more.

        :raises NoRoomError: when there is no room
        """
        wanted = size - _FREE
        if wanted > self._size:
            self._room.taken += wanted - self._size
            self._size = wanted
            if self._room.taken > _SHARED:
                raise NoRoomError("too much is under way: send it again later")

    def end(self) -> None:
        """Give all of it back."""
        self._room.taken -= self._size
        self._size = 0


class Room:
    """The memory that all requests of one server share. A small message needs none: its sender is served in
    a flood, too.

    :ivar taken: bytes
    :ivar parsing: lets one large message or body at a time be parsed in a thread: several threads that compute would
        leave little time to the loop
    """

    def __init__(self) -> None:
        self.taken = 0
        self.parsing = anyio.CapacityLimiter(1)

    @contextmanager
    def hold(self) -> Generator[Hold, None, None]:
        """The room for one request, for as long as the block runs."""
        hold = Hold(self)
        try:
            yield hold
        finally:
            hold.end()
