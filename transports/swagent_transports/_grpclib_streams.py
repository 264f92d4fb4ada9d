"""The calls of one connection, and the frames of their streams, in and out. See `_grpclib`.

h2 looks after the connection and knows no stream: a batch is some fifteen frames and an answer three, and h2 takes tens
of thousands of instructions for each.
"""

# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable

from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import Connection
from h2.errors import ErrorCodes
from h2.exceptions import FlowControlError, ProtocolError
from h2.windows import WindowManager
from hyperframe.frame import RstStreamFrame, WindowUpdateFrame

from ._grpclib_batch import head_frames
from ._grpclib_call import Call
from ._grpclib_headers import NO_TABLE, HeaderReader

WINDOW = 65_535
"""The smallest one that HTTP/2 allows: what a hostile peer can make us buffer unread."""
# The peer's windows are opened again when it has sent so much of a reply.
_MOST_OWED = 16 * 1024
_LARGEST_WINDOW = _LAST_STREAM = 2**31 - 1


class NotProcessedError(StreamTerminatedError):
    """Provably, the peer did not begin to process this stream.

    :ivar pause: seconds for which it wants to be left alone
    """

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class Streams:
    """The calls under way over one connection.

    :ivar calls: those that have begun and not ended, by their streams
    :ivar closed: why nothing begins any more
    """

    def __init__(self, connection: Connection, on_answer: Callable[[], None], on_idle: Callable[[], None]) -> None:
        """:param on_answer: called when an answer is complete
        :param on_idle: called when the last call has ended
        """
        self.calls: dict[int, Call] = {}
        self.closed: str | None = None
        self._connection = connection
        self._h2 = connection._connection
        self._on_answer = on_answer
        self._on_idle = on_idle
        # calls whose batch is not out yet, in their order
        self._waiting: dict[Call, None] = {}
        self._reader = HeaderReader()
        self._window = WindowManager(WINDOW)
        self._last_id = -1

    # -- out ----------------------------------------------------------------------------------------------------------

    def begin(self, call: Call) -> None:
        """Send a call as far as the peer lets it out now. The rest follows by itself."""
        call.answer.add_done_callback(lambda _: self._release(call))
        if self.closed is not None or self._connection.is_closing():
            call.fail(NotProcessedError(self.closed or "the connection is closing"))
            return
        self._waiting[call] = None
        self.advance()

    def advance(self) -> None:
        """Send what the peer lets out now, in the order in which the calls came."""
        for call in tuple(self._waiting):
            if not self._connection.write_ready.is_set():
                return
            if not call.answer.done():
                self._advance(call)

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way, and none waits to begin."""
        return not (self.calls or self._waiting)

    def turn_away(self, reason: str) -> None:
        """End the calls that have not begun, and take no others."""
        self.closed = reason
        for call in tuple(self._waiting):
            if not call.stream_id:
                call.fail(NotProcessedError(reason))

    def _advance(self, call: Call) -> None:
        parts: list[bytes | memoryview] = []
        if not call.stream_id:
            if len(self.calls) >= self._h2.remote_settings.max_concurrent_streams:
                return
            parts.append(self._open(call))
        batch, most = call.batch, self._h2.max_outbound_frame_size
        while not batch.is_out and self._connection.write_ready.is_set():
            room = min(call.window, self._h2.outbound_flow_control_window)
            size = batch.cut(parts, call.stream_id, room, most)
            if not parts:
                return
            call.window -= size
            self._h2.outbound_flow_control_window -= size
            self._write(b"".join(parts))
            parts.clear()
        if batch.is_out:
            self._waiting.pop(call, None)

    def _open(self, call: Call) -> bytes:
        """Give a call its stream; the frames of its headers."""
        is_first = self._last_id < 0
        self._last_id += 2
        call.stream_id = self._last_id
        call.window = self._h2.remote_settings.initial_window_size
        self.calls[call.stream_id] = call
        if call.stream_id >= _LAST_STREAM:
            self.turn_away("there is no stream left")
        block = NO_TABLE + call.block if is_first else call.block
        return head_frames(block, call.stream_id, self._h2.max_outbound_frame_size)

    def _release(self, call: Call) -> None:
        """A call has ended: its stream is reset, unless both sides have ended it."""
        self._waiting.pop(call, None)
        if self.calls.pop(call.stream_id, None) is None:
            self._note_idle()
            return
        if not (call.is_reset or (call.is_over and call.batch.is_out)):
            self._write(RstStreamFrame(call.stream_id, error_code=ErrorCodes.CANCEL).serialize())
        self._open_windows(call)
        self._note_idle()
        # a stream is free
        self.advance()

    def _note_idle(self) -> None:
        if self.is_idle:
            self._on_idle()

    def _write(self, data: bytes) -> None:
        if not self._connection.is_closing():
            self._connection._transport.write(data)

    # -- in -----------------------------------------------------------------------------------------------------------

    def take_headers(self, stream_id: int, block: bytes, *, is_end: bool) -> None:
        """Take a whole block of headers. Those of a call that was given up are read too: the table depends on it."""
        fields = self._reader.read(block)
        call = self._find(stream_id)
        if call is not None:
            call.take_fields(fields, is_end=is_end)
            if is_end:
                self._end(call)

    def take_promise(self, block: bytes) -> None:
        """Take the headers of a pushed response, which is not used."""
        self._reader.read(block)

    def take_data(self, stream_id: int, data: bytes, size: int, *, is_end: bool) -> None:
        """Take DATA.

        :param size: with its padding: what it takes of the windows
        """
        self._window.window_consumed(size)
        call = self._find(stream_id)
        if call is None:
            self._acknowledge(size)
            return
        call.owed += size
        is_of_use = not data or call.take_data(data)
        if is_of_use and call.owed >= _MOST_OWED:
            self._open_windows(call)
        if is_end:
            self._end(call)

    def take_reset(self, stream_id: int, code: int) -> None:
        """The peer has given up a stream."""
        call = self._find(stream_id)
        if call is None:
            return
        call.is_reset = True
        if code == ErrorCodes.REFUSED_STREAM:
            call.fail(NotProcessedError("REFUSED_STREAM"))
        else:
            call.fail(StreamTerminatedError(f"Stream reset by remote party, error_code: {code}"))

    def take_window(self, stream_id: int, increment: int) -> None:
        """The peer opens a window: of a stream, or of the connection."""
        if not stream_id:
            self._h2.outbound_flow_control_window = _grown(self._h2.outbound_flow_control_window, increment)
        elif (call := self._find(stream_id)) is not None:
            call.window = _grown(call.window, increment)
        self.advance()

    def take_window_change(self, increment: int) -> None:
        """The peer changes the windows of all streams by its settings."""
        for call in self.calls.values():
            call.window = _grown(call.window, increment)

    def _find(self, stream_id: int) -> Call | None:
        """The call of a stream; none of a call that has ended, or of a stream that the peer has opened."""
        if stream_id % 2 and stream_id > self._last_id:
            raise ProtocolError(f"a frame of stream {stream_id}, which was not opened")
        return self.calls.get(stream_id)

    def _end(self, call: Call) -> None:
        self._on_answer()
        call.end()

    def _open_windows(self, call: Call) -> None:
        """Let the peer send as much again as a call has taken."""
        owed, call.owed = call.owed, 0
        if owed:
            self._acknowledge(owed)
            if not (call.is_over or call.is_reset or call.answer.done()):
                self._write(WindowUpdateFrame(call.stream_id, window_increment=owed).serialize())

    def _acknowledge(self, size: int) -> None:
        """Open the connection's window again, when it is worth a frame."""
        grown = self._window.process_bytes(size)
        if grown:
            self._write(WindowUpdateFrame(0, window_increment=grown).serialize())


def _grown(window: int, increment: int) -> int:
    if window + increment > _LARGEST_WINDOW:
        raise FlowControlError(f"a window of {window + increment} bytes")
    return window + increment
