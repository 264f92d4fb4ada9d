"""One connection of grpclib's, hardened against what its peer sends. See `_grpclib`."""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from grpclib.protocol import H2Protocol
from h2.connection import H2Connection

from swagent.agent_log import say

from ._grpclib_headers import silent_encoder
from ._grpclib_processor import GrpcProcessor
from ._grpclib_slices import SlicedFrames

# How many bytes may wait for a peer that does not read: more than a batch.
MAX_UNREAD = 3 * 1024 * 1024


class GrpcProtocol(H2Protocol):
    """A connection whose errors stay inside it, whatever its peer sends."""

    processor: GrpcProcessor

    def __init__(self, listed: set[GrpcProtocol], *args: Any) -> None:
        """:param listed: the set in which the connection is listed for as long as it is open"""
        super().__init__(*args)
        self._listed = listed
        self._is_lost = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.processor = GrpcProcessor(  # pyright: ignore[reportIncompatibleVariableOverride]
            self.handler, self.connection, self._forget_frames
        )
        self._unread = SlicedFrames(self.processor.under_way)
        self.connection._connection.incoming_buffer = self._unread
        # encodes nothing; it logs that its table may be larger now
        self.connection._connection.encoder = silent_encoder()
        self._listed.add(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.processor.under_way.advance()

    def connection_lost(self, exc: BaseException | None) -> None:
        if not (self._unread.is_cut and self._is_open):
            self._end(exc)
            return
        # an answer may be among what has arrived
        self._is_lost = True
        self.connection._transport = cast("Any", _NoTransport())
        self.processor.retire("Connection lost")

    def _end(self, exc: BaseException | None = None) -> None:
        super().connection_lost(exc)
        self._listed.discard(self)

    @property
    def _is_open(self) -> bool:
        return hasattr(self.connection, "_transport")

    def data_received(self, data: bytes) -> None:
        if self._unread.is_cut:
            # read before the reading was paused
            self._unread.add_data(data)
            return
        self._take_slice(data)

    def _take_slice(self, data: bytes = b"") -> None:
        """Work through a slice of what has arrived. Nothing more is read until all of it is done."""
        was_cut = self._unread.is_cut
        self._unread.begin_slice()
        if self._is_open:
            self._read(data)
        if self._is_open and self._unread.is_cut:
            self.connection._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._take_slice)
        elif self._is_lost:
            self._end()
        elif self._is_open and was_cut:
            self.connection._transport.resume_reading()

    def _read(self, data: bytes) -> None:
        try:
            # as grpclib does; but grpclib would log an error into the application's log
            for event in self.connection.feed(data):
                self.processor.process(event)
            if self._is_open:
                self.connection.flush()
        except Exception as error:  # noqa: BLE001, RUF100  (whatever a peer's bytes provoke stays on this connection)
            say(logging.DEBUG, "closing a connection whose bytes cannot be read: %r", error)
            self.processor.close(f"unreadable bytes: {error!r}")
        if not self._is_open:
            return
        if self.connection._transport.get_write_buffer_size() > MAX_UNREAD:
            self.processor.close("the peer does not read what it asks for")
        elif _awaits_overlong_frame(self.connection._connection):
            self.processor.close("a frame beyond all bounds; is this an HTTP/2 server?")

    def _forget_frames(self) -> None:
        self._unread.forget_frames()


class _NoTransport:
    """Replaces the transport of a connection that is lost, while what arrived over it is still worked through."""

    def is_closing(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        """Drop it."""

    def close(self) -> None:
        """There is nothing to do."""

    abort = pause_reading = resume_reading = close


def _awaits_overlong_frame(connection: H2Connection) -> bool:
    """h2 waits for a whole frame, up to 16 MiB, before it looks at the length. The bytes of another protocol look like
    such a frame."""
    head = bytes(getattr(connection.incoming_buffer, "_data", b"")[:3])
    return len(head) == 3 and int.from_bytes(head, "big") > connection.max_inbound_frame_size
