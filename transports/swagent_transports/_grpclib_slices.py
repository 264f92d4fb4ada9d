"""A peer's frames, handed out a slice at a time, so that the loop's other tasks get their turn in between.

h2 works through everything that has arrived in one go, and asyncio reads up to 256 KiB at once: thousands of small
frames. How long a frame takes depends on what it is, so a slice is measured in steps of about equal cost and not in
bytes. A single frame that takes too long is refused.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import struct

from h2.exceptions import ProtocolError
from h2.frame_buffer import FrameBuffer
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, HeadersFrame, PushPromiseFrame, SettingsFrame

from ._grpclib_streams import Streams

# One to two milliseconds of work.
SLICE_STEPS = 96
# A frame is one step, and so many bytes of it that are not just copied are another one.
_STEP_BYTES = 64
# The cost of a frame with headers, however short it is.
_HEAD_STEPS = 4
_WITH_HEADERS = (HeadersFrame, ContinuationFrame, PushPromiseFrame)
# Compressed headers, of which 8 KiB can take four milliseconds to unpack. It is what gRPC takes by default.
MAX_HEAD = 8 * 1024
# 64 settings; RFC 9113 knows six.
MAX_SETTINGS = 64 * 6
# The frames that a peer may send between two answers. A batch that is sent costs it some hundred WINDOW_UPDATEs.
MAX_FRAMES = 2048
_HEAD = struct.Struct(">HBBBI")
_DATA, _HEADERS, _WINDOW_UPDATE = 0x0, 0x1, 0x8
_END_STREAM, _END_HEADERS = 0x1, 0x4
_WINDOW_UPDATE_SIZE = 4
# The flags that a frame of the plainest form may have, by its kind.
_PLAIN = {_DATA: _END_STREAM, _HEADERS: _END_STREAM | _END_HEADERS, _WINDOW_UPDATE: 0}
_LARGEST = 2**31 - 1


class FloodError(Exception):
    """The peer sends frames without end, and no answer."""


class SlicedFrames(FrameBuffer):
    """h2's buffer of incoming bytes. `begin_slice` says that the next frames may come.

    Frames of the plainest form do not reach h2: an answer's headers and DATA, and windows that open.
    """

    def __init__(self, streams: Streams) -> None:
        super().__init__(server=False)
        self._steps = SLICE_STEPS
        self._frames = 0
        self._streams = streams

    def begin_slice(self) -> None:
        """Hand out a slice's worth of frames; each call of h2's `receive_data` takes them as far as they are there."""
        self._steps = SLICE_STEPS

    def forget_frames(self) -> None:
        """An answer has come: what came before was no flood."""
        self._frames = 0

    @property
    def is_cut(self) -> bool:
        """Whether the slice came to its end, and there may be more frames."""
        return self._steps <= 0

    def __next__(self) -> Frame:
        while self._steps > 0:
            if not self._take_plain():
                return super().__next__()
        raise StopIteration

    def _take_plain(self) -> bool:
        """Take a frame past h2. False: there is none, or it is of another form."""
        data: bytearray | None = getattr(self, "_data", None)
        if data is None:
            return False  # h2 before 4.3 keeps bytes that cannot be cut in place, and takes every frame by itself
        if len(data) < _HEAD.size or self._headers_buffer:
            return False
        high, low, kind, flags, stream_id = _HEAD.unpack_from(data)
        size = high << 8 | low
        if kind not in _PLAIN or flags & ~_PLAIN[kind] or size > min(MAX_HEAD, len(data) - _HEAD.size):
            return False
        stream_id &= _LARGEST
        end = _HEAD.size + size
        if kind == _WINDOW_UPDATE:
            return self._take_window(stream_id, size)
        if not stream_id or (kind == _HEADERS and not flags & _END_HEADERS):
            return False
        body = bytes(data[_HEAD.size : end])
        del data[:end]
        is_end = flags & _END_STREAM != 0
        if kind == _HEADERS:
            self._weigh(1 + _HEAD_STEPS + size // _STEP_BYTES)
            self._streams.take_headers(stream_id, body, is_end=is_end)
        else:
            self._weigh(1)
            self._streams.take_data(stream_id, body, size, is_end=is_end)
        return True

    def _take_window(self, stream_id: int, size: int) -> bool:
        increment = int.from_bytes(self._data[_HEAD.size : _HEAD.size + size], "big") & _LARGEST
        if size != _WINDOW_UPDATE_SIZE or not increment:
            return False
        del self._data[: _HEAD.size + size]
        self._weigh(1)
        self._streams.take_window(stream_id, increment)
        return True

    def _update_header_buffer(self, f: Frame | None) -> Frame | None:
        # h2 calls this once for each frame, before anything is done about it
        if f is not None:
            self._count(f)
        return super()._update_header_buffer(f)

    def _count(self, frame: Frame) -> None:
        steps = 1 if isinstance(frame, DataFrame) else 1 + frame.body_len // _STEP_BYTES
        if isinstance(frame, SettingsFrame) and frame.body_len > MAX_SETTINGS:
            raise ProtocolError(f"{frame.body_len} bytes of settings")
        if isinstance(frame, _WITH_HEADERS):
            steps += _HEAD_STEPS
            size = len(frame.data) + sum(len(each.data) for each in self._headers_buffer)
            if size > MAX_HEAD:
                raise ProtocolError(f"{size} bytes of compressed headers")
        self._weigh(steps)

    def _weigh(self, steps: int) -> None:
        self._steps -= steps
        self._frames += 1
        if self._frames > MAX_FRAMES:
            raise FloodError(f"{MAX_FRAMES} frames and no answer")
