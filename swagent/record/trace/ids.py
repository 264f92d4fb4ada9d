"""Ids of traces and segments: unique across threads, processes and forks, and cheap.

An id is 32 hexadecimal digits: 80 random bits drawn once for the process, then a counter of 48 bits. Drawing randomness
for every id would cost a system call; `next()` on a C counter is atomic under the interpreter's lock.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

from ...forks import at_fork

_process = _other = ""
FIRST_NUMBER = 16**11
"""From here on a number has twelve digits, and need not be filled up with zeros, which costs more than its digits."""
new_number: Callable[[], int] = itertools.count(FIRST_NUMBER).__next__
"""The next number, of which two fresh ids are made, see `ids_of`. Any thread."""


def _draw() -> None:
    global _process, _other
    _process, _other = os.urandom(10).hex(), os.urandom(10).hex()


_draw()
# a forked child shares the counter's value but must not share its ids
at_fork(after_in_child=_draw)


def new_id() -> str:
    """A fresh id. Any thread."""
    return trace_id_of(new_number())


def trace_id_of(number: int) -> str:
    """The trace's id of a number from `new_number`."""
    return f"{_process}{number:x}"


def segment_id_of(number: int) -> str:
    """The first segment's id of a number from `new_number`."""
    return f"{_other}{number:x}"


def ids_of(number: int) -> tuple[str, str]:
    """The ids of a number: of a trace, and of its first segment."""
    digits = f"{number:x}"
    return _process + digits, _other + digits


def id_prefixes() -> tuple[str, str]:
    """The beginnings of the ids of all numbers: those of traces, and those of their first segments."""
    return _process, _other
