"""Reads the messages of a gRPC stream in bulk.

grpclib reads each message in two steps, and acknowledges every frame to the peer. Both cost more than the message
itself. So this takes the frames below grpclib's stream as they come, and cuts them into messages. It touches these of
grpclib's internals: `Stream._stream.buffer`, and of that buffer `_unacked`, `_ack_callback` and `_eof`.
"""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from .room import BODY_SECONDS, MAX_BODY, Hold

_PREFIX = 5


class MessageReader:
    """The messages of one call.

    :ivar is_compressed: whether the last one is
    """

    def __init__(self, stream: Any, hold: Hold, *, may_be_compressed: bool = False) -> None:
        """
        :param stream: grpclib's, of which nothing was read yet
        :param may_be_compressed: whether the caller decompresses messages
        """
        self.is_compressed = False
        self._may_be_compressed = may_be_compressed
        self._hold = hold
        self._buffer: Any = stream._stream.buffer
        self._rest = bytearray()
        self._deadline: float | None = None  # of a message that has begun

    async def read(self) -> list[bytes]:
        """The messages that are complete with the next frame, maybe none.

        :raises EOFError: when the client has ended the stream
        :raises GRPCError: for what is no sequence of whole, uncompressed messages
        """
        if self._rest:
            data, _, size = await self._next_in_time()
        else:
            data, _, size = await self._buffer._unacked.get()
        if size:
            self._buffer._ack_callback(size)
        elif self._buffer._eof and self._buffer._unacked.empty():
            if self._rest:
                raise GRPCError(Status.INVALID_ARGUMENT, "the stream ended within a message")
            raise EOFError
        await asyncio.sleep(0)  # while frames are buffered, no other task would run
        self._rest += data
        return self._cut()

    async def read_only(self) -> bytes:
        """The one message of a call that carries no other.

        :raises GRPCError: when it carries none, or more; and as `read` does
        """
        messages: list[bytes] = []
        try:
            while not messages:
                messages = await self.read()
        except EOFError:
            raise GRPCError(Status.INVALID_ARGUMENT, "the call carries no message") from None
        if len(messages) > 1:
            raise GRPCError(Status.INVALID_ARGUMENT, "the call carries more than one message")
        return messages[0]

    async def _next_in_time(self) -> Any:
        """The next frame of a message that has begun."""
        if self._deadline is None:
            self._deadline = anyio.current_time() + BODY_SECONDS
        with anyio.CancelScope(deadline=self._deadline):
            return await self._buffer._unacked.get()
        raise GRPCError(Status.DEADLINE_EXCEEDED, f"a message has not arrived within {BODY_SECONDS:g} s")

    def _cut(self) -> list[bytes]:
        rest, at, messages = self._rest, 0, list[bytes]()
        while len(rest) - at >= _PREFIX:
            self.is_compressed = bool(rest[at])
            if rest[at] and not self._may_be_compressed:
                raise GRPCError(Status.UNIMPLEMENTED, "compressed messages are not accepted")
            size = int.from_bytes(rest[at + 1 : at + _PREFIX], "big")
            if size > MAX_BODY:
                raise GRPCError(Status.RESOURCE_EXHAUSTED, f"a message of {size} bytes is larger than {MAX_BODY}")
            end = at + _PREFIX + size
            if end > len(rest):
                self._hold.grow(size)
                break
            messages.append(bytes(rest[at + _PREFIX : end]))
            at = end
        if at:
            del rest[:at]
            self._deadline = None
        return messages
