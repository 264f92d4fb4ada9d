"""The faults of a run, drawn from a seed. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

WARM_UP = 10.0
"""Seconds of load before the first fault."""


class Kind(enum.Enum):
    """A kind of fault."""

    NOTHING = "nothing"
    SINK_KILLED = "collector killed"
    SINK_FROZEN = "collector frozen"
    LATENCY = "latency"
    JITTER = "jitter"
    BANDWIDTH = "bandwidth"
    SLICES = "slices"
    HOLE = "black hole"
    RESET = "reset"
    HALF_CLOSE = "half-close"
    PORT_DOWN = "port down"
    APP_FROZEN = "application frozen"


# From little to much; what the numbers are is said by `unit`.
_STRENGTHS: Mapping[Kind, tuple[float, float]] = {
    Kind.LATENCY: (0.05, 1.5),
    Kind.JITTER: (0.05, 1.0),
    Kind.BANDWIDTH: (4_000, 60_000),
    Kind.SLICES: (16, 256),
    Kind.RESET: (0, 20_000),
    Kind.HALF_CLOSE: (0, 20_000),
}
_UNITS: Mapping[Kind, str] = {
    Kind.LATENCY: "{:.2f} s more",
    Kind.JITTER: "up to {:.2f} s more",
    Kind.BANDWIDTH: "{:.0f} bytes/s",
    Kind.SLICES: "{:.0f} bytes at once",
    Kind.RESET: "after {:.0f} bytes",
    Kind.HALF_CLOSE: "after {:.0f} bytes",
}
_QUIET_SHARE = 0.1
_SHORTEST = 0.5
_LONGEST = 24.0
_LONGEST_FREEZE = 3.0


@dataclass(frozen=True)
class Step:
    """One fault.

    :ivar at: when it begins, in seconds since the load began
    :ivar seconds: how long it lasts
    :ivar strength: how bad it is, for kinds that are more or less bad
    """

    at: float
    kind: Kind
    seconds: float
    strength: float = 0.0

    def __str__(self) -> str:
        unit = _UNITS.get(self.kind, "").format(self.strength)
        return f"{self.at:7.1f} s  {self.kind.value} for {self.seconds:.1f} s{', ' if unit else ''}{unit}"


def draw_plan(seed: int, count: int, every: float) -> list[Step]:
    """So many faults, one each `every` seconds. Each kind comes once before any comes again."""
    random = Random(seed)
    kinds = _kinds(random)
    return [_step(random, WARM_UP + number * every, next(kinds), every) for number in range(count)]


def _kinds(random: Random) -> Iterator[Kind]:
    while True:
        deck = [kind for kind in Kind if kind is not Kind.NOTHING]
        random.shuffle(deck)
        for kind in deck:
            while random.random() < _QUIET_SHARE:
                yield Kind.NOTHING
            yield kind


def _step(random: Random, at: float, kind: Kind, every: float) -> Step:
    longest = _LONGEST_FREEZE if kind is Kind.APP_FROZEN else _LONGEST
    seconds = random.uniform(_SHORTEST, min(longest, 0.8 * every))
    low, high = _STRENGTHS.get(kind, (0.0, 0.0))
    # as often among the small numbers as among the large ones
    strength = low + (high - low) * random.random() ** 2
    return Step(at, kind, round(seconds, 1), round(strength, 2))
