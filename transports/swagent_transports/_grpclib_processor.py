"""What each event on a connection of grpclib's means for the calls on it. See `_grpclib`."""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor, Stream
from grpclib.utils import Wrapper
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RemoteSettingsChanged, StreamEnded, StreamReset
from hyperframe.frame import Frame, GoAwayFrame

from swagent.agent_log import say

# Seconds for which a peer is left alone that says ENHANCE_YOUR_CALM.
CALM = 5.0
# The peer goes on with the calls that it took; any other error code says that the connection is of no use any more.
_GRACEFUL = (ErrorCodes.NO_ERROR, ErrorCodes.ENHANCE_YOUR_CALM)


class NotProcessedError(StreamTerminatedError):
    """Provably, the peer did not begin to process this stream.

    :ivar pause: seconds for which it wants to be left alone
    """

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class _GoAway(Event):
    """A GOAWAY frame. h2 itself would take it for the end of the connection."""

    def __init__(self, frame: GoAwayFrame) -> None:
        self.last_stream_id = frame.last_stream_id
        self.error_code = frame.error_code


def _announce(frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
    return [], [_GoAway(frame)]


class GrpcProcessor(EventsProcessor):
    """The events of one connection.

    :ivar starting: calls that wait for their turn to begin a stream
    :ivar sending: streams whose batch is not out yet
    :ivar greeted: set when the peer's SETTINGS have come, or never will
    :ivar ended: why the connection has come to its end
    :ivar pause: seconds for which the peer wants to be left alone, which no call has read yet
    :ivar on_answer: called when an answer is complete
    """

    def __init__(self, handler: AbstractHandler, connection: Connection, on_answer: Callable[[], None]) -> None:
        super().__init__(handler, connection)
        self.starting: set[Wrapper] = set()
        self.sending: set[Stream] = set()
        self.greeted = asyncio.Event()
        self.ended: str | None = None
        self.pause = 0.0
        self._on_answer = on_answer
        processors: dict[Any, Any] = self.processors
        processors[_GoAway] = self.process_go_away
        connection._connection._frame_dispatch_table[GoAwayFrame] = _announce

    async def wait_greeted(self) -> None:
        """Wait for the peer's SETTINGS, which show that it speaks HTTP/2, and how.

        :raises NotProcessedError: when the connection ends before
        """
        await self.greeted.wait()
        if self.ended is not None:
            raise NotProcessedError(f"closed before it greeted: {self.ended}", self.take_pause())

    def take_pause(self) -> float:
        """How long to leave the peer alone; the caller sees to that."""
        pause, self.pause = self.pause, 0.0
        return pause

    def process(self, event: Event) -> None:
        try:
            super().process(event)
        except NotImplementedError:
            # RFC 9113, section 5.5: what is not known must be ignored
            say(logging.DEBUG, "ignored %r", event)

    def process_go_away(self, event: _GoAway) -> None:
        reason = f"GOAWAY after stream {event.last_stream_id}, error code {event.error_code}"
        self.pause = CALM if event.error_code == ErrorCodes.ENHANCE_YOUR_CALM else 0.0
        above = [stream for stream in self.streams.values() if (stream.id or 0) > event.last_stream_id]
        pause = self.take_pause() if above else 0.0
        for stream in above:
            _end(stream, NotProcessedError(reason, pause))
        if event.error_code not in _GRACEFUL or not self.streams:
            self.close(reason)
            return
        self.retire(reason)

    def retire(self, reason: str) -> None:
        """Take no more calls; those that are begun may still be answered."""
        # the next call dials anew, see Channel._connected
        self.handler.close()
        self._turn_away(reason)

    def process_remote_settings_changed(self, event: RemoteSettingsChanged) -> None:
        super().process_remote_settings_changed(event)
        self.greeted.set()
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
        self._on_answer()
        # not by h2's state of the stream: a reset that came in the same piece has closed it already
        if stream in self.sending:
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
        # what is said of it later, as that it is lost, says less
        reason = self.ended = self.ended or reason
        self.greeted.set()
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
