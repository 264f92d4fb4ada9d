"""A peer's frames, handed out a slice at a time, so that the loop's other tasks get their turn in between.

h2 works through everything that has arrived in one go, and asyncio reads up to 256 KiB at once: thousands of small
frames. How long a frame takes depends on what it is, so a slice is measured in steps of about equal cost and not in
bytes. A single frame that takes too long is refused.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from h2.exceptions import ProtocolError
from h2.frame_buffer import FrameBuffer
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, HeadersFrame, PushPromiseFrame, SettingsFrame

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


class SlicedFrames(FrameBuffer):
    """h2's buffer of incoming bytes. `begin_slice` says that the next frames may come."""

    def __init__(self) -> None:
        super().__init__(server=False)
        self._steps = SLICE_STEPS

    def begin_slice(self) -> None:
        """Hand out a slice's worth of frames; each call of h2's `receive_data` takes them as far as they are there."""
        self._steps = SLICE_STEPS

    @property
    def is_cut(self) -> bool:
        """Whether the slice came to its end, and there may be more frames."""
        return self._steps <= 0

    def __next__(self) -> Frame:
        if self.is_cut:
            raise StopIteration
        return super().__next__()

    def _update_header_buffer(self, f: Frame | None) -> Frame | None:
        # h2 calls this once for each frame, before anything is done about it
        if f is not None:
            self._count(f)
        return super()._update_header_buffer(f)

    def _count(self, frame: Frame) -> None:
        self._steps -= 1 if isinstance(frame, DataFrame) else 1 + frame.body_len // _STEP_BYTES
        if isinstance(frame, SettingsFrame) and frame.body_len > MAX_SETTINGS:
            raise ProtocolError(f"{frame.body_len} bytes of settings")
        if isinstance(frame, _WITH_HEADERS):
            self._steps -= _HEAD_STEPS
            size = len(frame.data) + sum(len(each.data) for each in self._headers_buffer)
            if size > MAX_HEAD:
                raise ProtocolError(f"{size} bytes of compressed headers")
