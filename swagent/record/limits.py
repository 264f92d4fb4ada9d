"""Limits on the application's texts, and the marks that show where a text was cut."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, TracebackType

from ..text import one_line
from .foreign import class_name, must_reach_application

MAX_TAGS = 128
MAX_LOGS = 128
MAX_VALUE = 2048
MAX_NAME = 150
MAX_MESSAGE = 512
MAX_FRAMES = 32
_MARK = "…[truncated]"
_MORE_FRAMES = "…"
_MORE_THAN_ADDRESS = frozenset("@?#")
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")
# The folders of functions that wrap those of libraries.
_wrapper_folders: tuple[str, ...] = ()
# Those of the middlewares and of the clock, which stand around the application in each request.
_SERVING_FOLDERS = tuple(os.path.join(Path(__file__).parents[1], name, "") for name in ("asgi", "wsgi", "profile"))


def short(text: str, limit: int = MAX_VALUE) -> str:
    """The text, cut to the limit with a mark at the cut."""
    return text if len(text) <= limit else text[: limit - len(_MARK)] + _MARK


def as_text(value: object) -> str:
    """The value as a plain `str`, whatever its `__str__` does. Only an exception that ends the task or the program
    passes."""
    if type(value) is str:
        return value
    try:
        text = str(value)
    except BaseException as error:  # noqa: BLE001, RUF100  (foreign code: the application's call goes on)
        if must_reach_application(error):
            raise
        return f"<{class_name(value)} without text>"
    # a subclass may have its own idea of every method
    return text if type(text) is str else str.__str__(text)


def name_of(value: object) -> str:
    """A span's name: one line, and short."""
    if type(value) is str and len(value) <= MAX_NAME and value.isprintable():
        return value
    return short(one_line(as_text(value)), MAX_NAME)


def address_of(peer: object) -> str:
    """A peer's address as it is shown: one line, short, and without the credentials and the query of a URL."""
    text = as_text(peer)
    if not _MORE_THAN_ADDRESS.isdisjoint(text):
        scheme = _SCHEME.match(text)
        start = scheme.end() if scheme else 0
        # at the last @, whatever is before it: a password may contain any other character
        host = text[start:].rpartition("@")[2]
        text = text[:start] + host.partition("?")[0].partition("#")[0]
    return short(one_line(text))


def leave_out_frames_in(folder: str) -> None:
    """Show no frame of the code in this folder in the stack of an exception. A second call does nothing.

    :param folder: its path, as the file names of its code objects begin
    """
    global _wrapper_folders  # noqa: PLW0603, RUF100
    prefix = os.path.join(folder, "")
    if prefix not in _wrapper_folders:
        _wrapper_folders += (prefix,)


def describe(error: BaseException) -> dict[str, str]:
    """An exception as the fields of a span log: kind, message, and the stack by places, innermost last."""
    try:
        return _described(error)
    except BaseException as raised:  # noqa: BLE001, RUF100  (an exception class with a will of its own)
        if must_reach_application(raised):
            raise
        return {"error.kind": "<an exception that cannot be described>"}


def _described(error: BaseException) -> dict[str, str]:
    kind = type(error)
    return {
        "error.kind": kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}",
        "message": short(as_text(error), MAX_MESSAGE),
        "stack": stack_text(_frames_of(error)[-MAX_FRAMES:]),
    }


def stack_text(frames: Sequence[tuple[FrameType, int]], *, is_cut: bool = False) -> str:
    """Frames by place, one a line. The innermost matter most: where there is no room for all, the outer ones give way.

    No source lines, which would be read from disk inside the request, and no values.

    :param frames: each with its line, the innermost last
    :param is_cut: that there were more of them outside
    """
    places = [f'File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}' for frame, line in frames]
    kept: list[str] = []
    room = MAX_VALUE - len(_MORE_FRAMES)
    for place in reversed(places):
        room -= len("\n" + place)
        if kept and room < 0:
            break
        kept.append(place)
    if is_cut or len(kept) < len(places):
        kept.append(_MORE_FRAMES)
    return short("\n".join(reversed(kept)))


def _frames_of(error: BaseException) -> list[tuple[FrameType, int]]:
    """Where an exception passed, the outermost first. One that was caught in the wrapper of a library's function has
    not come to the application yet: its callers are added, and the wrappers' own frames are left out."""
    frames = places_of(error.__traceback__)
    if frames and _is_wrapper(frames[0][0]):
        callers = list(traceback.walk_stack(frames[0][0].f_back))
        frames = [each for each in (*reversed(callers), *frames) if not _is_wrapper(each[0])]
    return frames


def places_of(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The frames of a traceback with their lines, without those of the middlewares: they say nothing of the
    application, and where the accelerator serves requests there are none."""
    walked = traceback.walk_tb(trace)
    return [each for each in walked if not each[0].f_code.co_filename.startswith(_SERVING_FOLDERS)]


def _is_wrapper(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_wrapper_folders)
