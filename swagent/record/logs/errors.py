"""An exception as the text of a log record.

It looks like the interpreter's own traceback, with three differences. There are no source lines, since they would be
read from disk inside the request. The middlewares' own frames are left out. And of a stack that is too deep the inner
end is kept, where it happened.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import TracebackType

from ..limits import MAX_MESSAGE, as_text, places_of, short

# How many exceptions are shown where depth 0 leaves out their stacks: as many as by default.
_WITHOUT_STACKS = 10
_HEAD = "Traceback (most recent call last):"
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n"


def describe_error(error: BaseException, trace: TracebackType | None, depth: int, *, nested: bool = False) -> str:
    """The exception, what caused it, and what it groups.

    :param trace: the one that was logged; may differ from the one that the exception holds
    :param depth: how many exceptions in all, and how many places of each one's stack; 0: no stacks
    :param nested: inside a group; groups in there are shown by their headlines, or they could go round in circles
    """
    most = depth or _WITHOUT_STACKS
    chain = list(itertools.islice(_chain(error), most + 1))
    lines: list[str] = []
    if len(chain) > most:
        lines.append("…")
    for each, link in reversed(chain[:most]):
        lines += _stack(trace if each is error else each.__traceback__, depth)
        lines.append(_headline(each))
        lines += [f"    {note}" for note in _notes(each)]
        lines += [] if nested else _grouped(each, depth)
        lines += [link] if link else []
    return "\n".join(lines)


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """From the exception to its causes, each with the words that join it to the one before."""
    seen: set[int] = set()
    follower: BaseException | None = error
    link = ""
    while follower is not None and id(follower) not in seen:
        yield follower, link
        seen.add(id(follower))
        if follower.__cause__ is not None:
            follower, link = follower.__cause__, _CAUSE
        else:
            follower, link = (None if follower.__suppress_context__ else follower.__context__), _CONTEXT


def _stack(trace: TracebackType | None, depth: int) -> list[str]:
    frames = places_of(trace) if depth else []
    if not frames:
        return []
    places = [f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
              for frame, line in frames[-depth:]]  # fmt: skip
    return [_HEAD, *(["  …"] if len(frames) > depth else []), *places]


def _grouped(error: BaseException, depth: int) -> list[str]:
    members = _members(error)
    most = depth or _WITHOUT_STACKS
    lines: list[str] = []
    for number, member in enumerate(members[:most], 1):
        lines.append(f"  + {number} of {len(members)}:")
        described = describe_error(member, member.__traceback__, depth, nested=True)
        lines += [f"  | {line}" for line in described.split("\n")]
    if len(members) > most:
        lines.append("  + …")
    return lines


def _headline(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = short(as_text(error), MAX_MESSAGE)
    return f"{name}: {message}" if message else name


def _notes(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", None)
    return [short(as_text(note), MAX_MESSAGE) for note in notes[:8]] if isinstance(notes, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _members(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group, recognised by its attributes: on Python 3.10 groups come from a package."""
    members = getattr(error, "exceptions", None)
    if not isinstance(members, tuple) or not all(isinstance(each, BaseException) for each in members):  # pyright: ignore[reportUnknownVariableType]
        return ()
    return members  # pyright: ignore[reportUnknownVariableType]
