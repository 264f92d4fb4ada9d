"""A log line that is not reported: formatted early, left to `logging`, or made for handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .beside import run_bare, run_with_agent
from .lesson import Lesson, ratio
from .logging_program import BASE, WAYS

PUBLISHED: Mapping[str, float] = {"formatted, then not wanted": 147.0, BASE: 1.1}
"""Milliseconds with the line as it was, and as it is."""
_HEADS = ("the line", "published, ms", "without, us", "to the base", "with the agent, us", "to the base", "to without")
_MODULE = "stress.lessons.logging_program"


def measure(short: bool) -> Lesson:
    """Log the lines in a program without and with the agent."""
    lines, rounds = ("50", "3") if short else ("200", "9")
    without: Mapping[str, float] = run_bare(_MODULE, lines, rounds).said
    with_agent: Mapping[str, float] = run_with_agent("lesson", _MODULE, lines, rounds).said
    rows = [_row(way, without, with_agent) for way in WAYS]
    published = ratio(PUBLISHED["formatted, then not wanted"], PUBLISHED[BASE])
    notes = [
        f"the published times are of another line in another program; their ratio is {published}",
        "microseconds of the thread's processor time for one line, the median of rounds in turns; the argument is a "
        "list of 200 dictionaries",
    ]
    return Lesson("A log line that is not reported", _HEADS, rows, notes, faults(without, with_agent))


def _row(way: str, without: Mapping[str, float], with_agent: Mapping[str, float]) -> Sequence[str]:
    return (
        way, f"{PUBLISHED[way]:g}" if way in PUBLISHED else "",
        f"{without[way]:.2f}", ratio(without[way], without[BASE]),
        f"{with_agent[way]:.2f}", ratio(with_agent[way], with_agent[BASE]), ratio(with_agent[way], without[way]),
    )  # fmt: skip


def faults(*found: Mapping[str, float]) -> list[str]:
    """Why the table is void: a line that is formatted costs more than one that is not."""
    dear = "formatted, then not wanted"
    return [
        f"{dear}: {each[dear]:.2f} us, {BASE}: {each[BASE]:.2f} us" for each in found if each[dear] < 2 * each[BASE]
    ]
