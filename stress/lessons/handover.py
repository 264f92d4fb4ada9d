"""Records handed over: in the loop's thread, from another thread, and to another process. No figures were published."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from stress.clients.command import REQUIREMENTS
from stress.environments import python_with, with_this_code

from .lesson import Lesson, middle_of_rounds, ratio
from .program import last_line_of

BASE = "asyncio.Queue, same thread"
PROCESS = "multiprocessing.Queue, to a process"
WAYS = (
    BASE, "janus.Queue, same thread", "swagent's channel, same thread",
    "asyncio.Queue, from another thread", "janus.Queue, from another thread", "swagent's channel, from another thread",
    PROCESS,
)  # fmt: skip
_HEADS = ("way", "CPU, us a record", "to the base")


def measure(short: bool) -> Lesson:
    """Run each way in turns: the benches of `stress clients`, and a process."""
    seconds, rounds = (0.3, 1) if short else (1.0, 3)
    python = python_with("clients", REQUIREMENTS)
    found = middle_of_rounds(WAYS, rounds, lambda way: _cost(python, way, seconds))
    rows = [(way, f"{found[way]:.2f}", ratio(found[way], found[BASE])) for way in WAYS]
    note = "processor time of all threads, and of both processes, for each record that was taken out"
    return Lesson("Records handed over", _HEADS, rows, [note], faults(found))


def _cost(python: Path, way: str, seconds: float) -> float:
    """Microseconds of processor time of a record."""
    if way == PROCESS:
        command: Sequence[str] = (sys.executable, "-m", "stress.lessons.process_handover", str(seconds))
    else:
        command = (str(python), "-m", "stress.clients.bench", "handover", way, "", str(seconds))
    said: Mapping[str, float] = last_line_of(command, with_this_code())
    return said["cpu"] / said["sent"] * 1e6


def faults(found: Mapping[str, float]) -> list[str]:
    """Why the table is void: each way costs something."""
    return [f"{way}: {cost:.2f} us" for way, cost in found.items() if cost <= 0]
