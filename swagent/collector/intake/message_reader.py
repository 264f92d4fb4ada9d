"""Reads the messages of a gRPC stream in bulk.

grpclib reads each message in two steps, and acknowledges every frame to the peer. Both cost more than the message
itself. So this takes the frames below grpclib's stream as they come, and cuts them into messages. What it touches of
grpclib's internals: `Stream._stream.buffer`, and of that buffer `_unacked`, `_ack_callback` and `_eof`.
"""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from typing import Any

from grpclib.const import Status
from grpclib.exceptions import GRPCError

MAX_MESSAGE = 50 * 1024 * 1024
"""Bytes; what OAP takes by default."""
_PREFIX = 5


class MessageReader:
    """The messages of one call."""

    def __init__(self, stream: Any) -> None:
        """:param stream: grpclib's, of which nothing was read yet"""
        self._buffer: Any = stream._stream.buffer
        self._rest = bytearray()

    async def read(self) -> list[bytes]:
        """The messages that are complete with the next frame, maybe none.

        :raises EOFError: when the client has ended the stream
        :raises GRPCError: for what is no sequence of whole, uncompressed messages
        """
        data, _, size = await self._buffer._unacked.get()
        if size:
            self._buffer._ack_callback(size)
        elif self._buffer._eof and self._buffer._unacked.empty():
            if self._rest:
                raise GRPCError(Status.INVALID_ARGUMENT, "the stream ended within a message")
            raise EOFError
        await asyncio.sleep(0)  # while frames are buffered, nobody else would run
        self._rest += data
        return self._cut()

    def _cut(self) -> list[bytes]:
        rest, at, messages = self._rest, 0, list[bytes]()
        while len(rest) - at >= _PREFIX:
            if rest[at]:
                raise GRPCError(Status.UNIMPLEMENTED, "compressed messages are not accepted")
            size = int.from_bytes(rest[at + 1 : at + _PREFIX], "big")
            if size > MAX_MESSAGE:
                raise GRPCError(Status.RESOURCE_EXHAUSTED, f"a message of {size} bytes is larger than {MAX_MESSAGE}")
            end = at + _PREFIX + size
            if end > len(rest):
                break
            messages.append(bytes(rest[at + _PREFIX : end]))
            at = end
        del rest[:at]
        return messages
