"""The functions on a stack, and where threads are."""

from __future__ import annotations

import sys
from types import FrameType

from ..thread_frames import current_frames
from .touched import Place

OWN = ("swagent.profile.", "swagent.inspection.")


def place_of(frame: FrameType) -> Place:
    """The module and the function of a frame."""
    return str(frame.f_globals.get("__name__", "")), frame.f_code.co_name


def is_own(place: Place) -> bool:
    """Whether it is one of those who look."""
    return place[0].startswith(OWN)


def outer_frame() -> FrameType | None:
    """The innermost frame of this thread that is not of those who look."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None and is_own(place_of(frame)):
        frame = frame.f_back
    return frame


def frame_of(thread: int) -> FrameType | None:
    """The innermost frame of a thread; None: it has ended."""
    return current_frames().get(thread)
