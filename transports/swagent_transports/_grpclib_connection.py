"""One connection of grpclib's, hardened: what the peer sends on it, and how calls learn of that. See `_grpclib`."""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor, H2Protocol, Stream
from grpclib.utils import Wrapper
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RemoteSettingsChanged, StreamEnded, StreamReset
from hyperframe.frame import Frame, GoAwayFrame

log = logging.getLogger("swagent.grpc")

# what may wait for a peer that does not read: more than a batch, since that may go out as one frame
MAX_UNREAD = 3 * 1024 * 1024


class NotProcessedError(StreamTerminatedError):
    """Provably, the peer did not begin to process this stream."""


class _GoAway(Event):
    """A GOAWAY frame. h2 itself would take it for the end of the connection."""

    def __init__(self, frame: GoAwayFrame) -> None:
        self.last_stream_id = frame.last_stream_id
        self.error_code = frame.error_code


def _announce(frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
    return [], [_GoAway(frame)]


class GrpcProcessor(EventsProcessor):
    """What each event means for the calls of a connection."""

    def __init__(self, handler: AbstractHandler, connection: Connection) -> None:
        super().__init__(handler, connection)
        # calls that wait for their turn to begin a stream
        self.starting: set[Wrapper] = set()
        processors: dict[Any, Any] = self.processors
        processors[_GoAway] = self.process_go_away
        connection._connection._frame_dispatch_table[GoAwayFrame] = _announce

    def process(self, event: Event) -> None:
        try:
            super().process(event)
        except NotImplementedError:
            # RFC 9113, section 5.5: what is not known must be ignored
            log.debug("ignored %r", event)

    def process_go_away(self, event: _GoAway) -> None:
        reason = f"GOAWAY after stream {event.last_stream_id}, error code {event.error_code}"
        for stream in tuple(self.streams.values()):
            if (stream.id or 0) > event.last_stream_id:
                _end(stream, NotProcessedError(reason))
        if event.error_code != ErrorCodes.NO_ERROR or not self.streams:
            self.close(reason)
            return
        # the next call dials anew, see Channel._connected
        self.handler.close()
        self._turn_away(reason)

    def process_remote_settings_changed(self, event: RemoteSettingsChanged) -> None:
        super().process_remote_settings_changed(event)
        # maybe more streams are allowed now
        self.connection.stream_close_waiter.set()

    def process_data_received(self, event: DataReceived) -> None:
        # an empty frame would be taken for the end of the stream
        if event.flow_controlled_length:
            super().process_data_received(event)

    def process_stream_ended(self, event: StreamEnded) -> None:
        super().process_stream_ended(event)
        stream = self.streams.get(event.stream_id or 0)
        if stream is None:
            return
        ours = self.connection._connection.streams.get(event.stream_id or 0)
        if ours is not None and not ours.closed:
            _end(stream, StreamTerminatedError("answered before it heard the whole batch"))
        elif stream.trailers is None and "grpc-status" not in dict(stream.headers or ()):
            _end(stream, StreamTerminatedError("answered without a status"))
        else:
            # the answer is complete, whatever becomes of the connection now
            stream.wrapper = None

    def process_stream_reset(self, event: StreamReset) -> None:
        stream = self.streams.get(event.stream_id or 0)
        if stream is not None and event.error_code == ErrorCodes.REFUSED_STREAM:
            _end(stream, NotProcessedError("REFUSED_STREAM"))
        super().process_stream_reset(event)

    def register(self, stream: Stream) -> Callable[[], None]:
        release = super().register(stream)

        def release_and_retire() -> None:
            release()
            if getattr(self.handler, "connection_lost", False) and not self.streams:
                self.close("retired")

        return release_and_retire

    def close(self, reason: str = "Connection closed") -> None:
        transport = getattr(self.connection, "_transport", None)
        if transport is not None:
            transport.abort()
        super().close(reason)
        self._turn_away(reason)

    def _turn_away(self, reason: str) -> None:
        for wrapper in tuple(self.starting):
            wrapper.cancel(NotProcessedError(reason))


def _end(stream: Stream, error: StreamTerminatedError) -> None:
    """End a call; nothing that comes later changes its outcome."""
    wrapper, stream.wrapper = stream.wrapper, None
    if wrapper is not None:
        wrapper.cancel(error)


class GrpcProtocol(H2Protocol):
    """A connection that keeps to itself whatever its peer does."""

    processor: GrpcProcessor

    def __init__(self, siblings: set[GrpcProtocol], *args: Any) -> None:
        """:param siblings: where the connection is listed for as long as it is open"""
        super().__init__(*args)
        self._siblings = siblings

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.processor = GrpcProcessor(  # pyright: ignore[reportIncompatibleVariableOverride]
            self.handler, self.connection
        )
        self._siblings.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._siblings.discard(self)

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except Exception as error:  # noqa: BLE001, RUF100  (whatever a peer's bytes provoke stays on this connection)
            log.debug("closing a connection whose bytes cannot be read: %r", error)
            self.processor.close(f"unreadable bytes: {error!r}")
        transport = getattr(self.connection, "_transport", None)
        if transport is None:
            return
        if transport.get_write_buffer_size() > MAX_UNREAD:
            self.processor.close("the peer does not read what it asks for")
        elif _awaits_overlong_frame(self.connection._connection):
            self.processor.close("a frame beyond all bounds; is this an HTTP/2 server?")


def _awaits_overlong_frame(connection: H2Connection) -> bool:
    """h2 waits for a whole frame, up to 16 MiB, before it looks at the length. Other protocols read as such frames."""
    head = bytes(getattr(connection.incoming_buffer, "_data", b"")[:3])
    return len(head) == 3 and int.from_bytes(head, "big") > connection.max_inbound_frame_size
