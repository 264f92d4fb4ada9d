"""The meaning of each event on a connection of grpclib's for the calls on it. See `_grpclib`."""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor
from h2.errors import ErrorCodes
from h2.events import Event, RemoteSettingsChanged
from h2.settings import SettingCodes
from hyperframe.frame import (
    AltSvcFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PushPromiseFrame,
    RstStreamFrame,
    WindowUpdateFrame,
)

from swagent.agent_log import say

from ._grpclib_call import Call
from ._grpclib_streams import NotProcessedError, Streams

# Seconds for which a peer that says ENHANCE_YOUR_CALM is left alone.
CALM = 5.0
# The peer goes on with the calls that it took; any other error code says that the connection is of no use any more.
_GRACEFUL = (ErrorCodes.NO_ERROR, ErrorCodes.ENHANCE_YOUR_CALM)


class _GoAway(Event):
    """A GOAWAY frame. h2 itself would take it for the end of the connection."""

    def __init__(self, frame: GoAwayFrame) -> None:
        self.last_stream_id = frame.last_stream_id
        self.error_code = frame.error_code


class GrpcProcessor(EventsProcessor):
    """The events of one connection.

    :ivar under_way: the calls
    :ivar greeted: set when the peer's SETTINGS have come, or never will
    :ivar ended: why the connection has come to its end
    :ivar pause: seconds for which the peer wants to be left alone, which no call has read yet
    """

    def __init__(self, handler: AbstractHandler, connection: Connection, on_answer: Callable[[], None]) -> None:
        """:param on_answer: called when an answer is complete"""
        super().__init__(handler, connection)
        self.under_way = Streams(connection, on_answer, self._close_retired)
        self.greeted = asyncio.Event()
        self.ended: str | None = None
        self.pause = 0.0
        self.is_replaced = False
        processors: dict[Any, Any] = self.processors
        processors[_GoAway] = self.process_go_away
        connection._connection._frame_dispatch_table.update(_frames_of_streams(self.under_way))

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
        calls = self.under_way.calls.values()
        above = [call for call in calls if call.stream_id > event.last_stream_id]
        pause = self.take_pause() if above else 0.0
        for call in above:
            call.fail(NotProcessedError(reason, pause))
        if event.error_code not in _GRACEFUL or not calls:
            self.close(reason)
            return
        self.retire(reason)

    def retire(self, reason: str) -> None:
        """Take no more calls; those that are begun may still be answered."""
        # the next call dials anew, see Channel._connected
        self.handler.close()
        self.under_way.turn_away(reason)

    def begin(self, call: Call) -> None:
        """Send a call as far as the peer lets it out now."""
        call.processor = self
        self.under_way.begin(call)

    def replace(self) -> None:
        """Close when the last call is over, also of those that wait for a stream: another connection takes the next."""
        self.is_replaced = True
        if self.under_way.is_idle:
            self._close_retired()

    def _close_retired(self) -> None:
        if (self.is_replaced or self.under_way.closed is not None) and self.ended is None:
            self.close("retired")

    def process_remote_settings_changed(self, event: RemoteSettingsChanged) -> None:
        changed = event.changed_settings.get(SettingCodes.INITIAL_WINDOW_SIZE)
        if changed is not None:
            self.under_way.take_window_change(changed.new_value - (changed.original_value or 0))
        self.greeted.set()
        # the new windows may let more out
        self.under_way.advance()

    def close(self, reason: str = "Connection closed") -> None:
        # the first reason says most; a later one may be just that the connection is lost
        reason = self.ended = self.ended or reason
        self.greeted.set()
        transport = getattr(self.connection, "_transport", None)
        if transport is not None:
            transport.abort()
        super().close(reason)
        self.under_way.turn_away(reason)
        for call in tuple(self.under_way.calls.values()):
            call.fail(StreamTerminatedError(reason))


_Nothing = tuple[list[Frame], list[Event]]


def _frames_of_streams(streams: Streams) -> dict[type[Frame], Callable[[Any], _Nothing]]:
    """The functions that h2 calls for the frames of streams: each passes its frame on to `streams`."""

    def headers(frame: HeadersFrame) -> _Nothing:
        streams.take_headers(frame.stream_id, frame.data, is_end="END_STREAM" in frame.flags)
        return [], []

    def data(frame: DataFrame) -> _Nothing:
        size = frame.flow_controlled_length
        streams.take_data(frame.stream_id, frame.data, size, is_end="END_STREAM" in frame.flags)
        return [], []

    def reset(frame: RstStreamFrame) -> _Nothing:
        streams.take_reset(frame.stream_id, frame.error_code)
        return [], []

    def window(frame: WindowUpdateFrame) -> _Nothing:
        streams.take_window(frame.stream_id, frame.window_increment)
        return [], []

    def promise(frame: PushPromiseFrame) -> _Nothing:
        streams.take_promise(frame.data)
        return [], []

    return {
        HeadersFrame: headers,
        DataFrame: data,
        RstStreamFrame: reset,
        WindowUpdateFrame: window,
        PushPromiseFrame: promise,
        AltSvcFrame: lambda _: ([], []),
        GoAwayFrame: lambda frame: ([], [_GoAway(frame)]),
    }
