"""A profile task: a collector's request to sample one endpoint, read from its command and held within limits.

A number that is out of its range is brought into it: whatever a collector asks for, a profile costs no more than this.
A command with an unreadable part is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

COMMAND = "ProfileTaskQuery"
_MAX_TEXT = 512
# Digits: more are no number of this protocol, and Python takes long for some thousands of them.
_MAX_DIGITS = 18
_DAY = 86_400_000


class ProfileTask(NamedTuple):
    """A task that can be carried out. Times in seconds, where nothing else is said."""

    id: str
    endpoint: str
    duration: float
    min_duration: float
    """For which a request has to take already, before it is followed."""
    period: float
    samples: int
    """How many requests."""
    start: int
    """Milliseconds since the epoch."""
    created: int
    """As `start`."""

    @property
    def end(self) -> float:
        """Milliseconds since the epoch."""
        return self.start + self.duration * 1000


def read_task(arguments: Mapping[str, str], now: int) -> ProfileTask:
    """Read the arguments of a command.

    :param now: milliseconds since the epoch
    :raises ValueError: when they are no task
    """
    created = _number(arguments, "CreateTime", 0, now + _DAY)
    start = _number(arguments, "StartTime", 0, now + _DAY)
    # one that lies ahead would hide every later task
    if created >= now + _DAY or start >= now + _DAY:
        raise ValueError("its time lies more than a day ahead")
    return ProfileTask(
        id=_text(arguments, "TaskId"),
        endpoint=_text(arguments, "EndpointName"),
        duration=60.0 * _number(arguments, "Duration", 1, 15),
        min_duration=_number(arguments, "MinDurationThreshold", 0, 900_000) / 1000,
        period=_number(arguments, "DumpPeriod", 10, 60_000) / 1000,
        samples=_number(arguments, "MaxSamplingCount", 1, 9),
        start=start,
        created=created,
    )


def _text(arguments: Mapping[str, str], name: str) -> str:
    text = arguments.get(name, "")
    if not text or len(text) > _MAX_TEXT or not text.isprintable():
        raise ValueError(f"{name} is no name")
    return text


def _number(arguments: Mapping[str, str], name: str, least: int, most: int) -> int:
    text = arguments.get(name, "")
    if not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS:
        raise ValueError(f"{name} is no number")
    return min(max(int(text), least), most)
