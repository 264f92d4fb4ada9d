"""The agent's own functions in which a request waits, and that know a better name for the wait than the code has.

Such a function has a local variable with an object that has a `name`. A code object's identity is compared, as
comparing code itself reads all of it; these live as long as the process.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from ..thread_frames import read

_variables: dict[int, str] = {}


def note_own_wait(code: CodeType, variable: str) -> None:
    """Know a function from now on.

    :param code: that lives as long as the process
    :param variable: the local one with the wait
    """
    _variables[id(code)] = variable


def is_own_wait(code: object) -> bool:
    """Whether a wait in this code has a name of its own."""
    return id(code) in _variables


def name_of_own_wait(frames: Iterable[FrameType]) -> str:
    """The name of the first of them that is one; empty: none is."""
    for frame in frames:
        variable = _variables.get(id(frame.f_code))
        if variable is not None:
            wait: Any = read(frame, "f_locals").get(variable)
            if wait is not None:  # else it has nothing to wait for
                return str(wait.name)
    return ""
