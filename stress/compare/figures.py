"""From measurements to figures: medians with their spread, and each against the bare application of the same round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .contestants import CONTESTANTS, HANDLERS
from .sinks import Delivered
from .visit import Measurement


@dataclass(frozen=True)
class Spread:
    """A median between the least and the most of its rounds."""

    median: float
    low: float
    high: float

    def show(self, form: str) -> str:
        """As text; `form` is a format for one number."""
        middle, low, high = (format(each, form) for each in (self.median, self.low, self.high))
        return middle if low == high else f"{middle} ({low}-{high})"


def spread(values: Iterable[float]) -> Spread:
    """Of one value at least."""
    found = list(values)
    return Spread(statistics.median(found), min(found), max(found))


@dataclass(frozen=True)
class AtRate:
    """One fixed rate; milliseconds. `p99_ratio` is against the bare application's median of the same round."""

    rate: float
    p50: Spread
    p99: Spread
    p99_ratio: Spread
    longest: float
    answered: float


@dataclass(frozen=True)
class Figures:
    """Of one contestant and one handler.

    :ivar ratio: its answers a second, each round's by the median of the bare application's in that round
    :ivar efficiency: the same of its answers for each second of processor time, at saturation
    :ivar room: the answers a second that one core has the time for, against the bare application's answers a second: no
        ratio comes above it
    :ivar rss_added: MiB over the bare application's median
    :ivar killed: how often it had to be
    """

    qps: Spread
    ratio: Spread
    efficiency: Spread
    room: Spread
    throughput: Spread
    mean: Spread
    p99: Spread
    p99_ratio: Spread
    at: Mapping[str, AtRate]
    cpu: Mapping[str, Spread]
    rss: Spread
    rss_added: Spread
    expected: Delivered
    delivered: Delivered
    exit: Spread
    killed: int

    @property
    def delivered_share(self) -> float:
        """Of segments and logs together; 1.0 where nothing is to be delivered. What came beyond that makes up for no
        loss: it is of the agent's own libraries, which log as well."""
        pairs = [
            (self.delivered.segments, self.expected.segments),
            (self.delivered.logs, self.expected.logs),
        ]
        expected = sum(each for _, each in pairs)
        return sum(min(pair) for pair in pairs) / expected if expected else 1.0


Key = tuple[str, str]
"""A contestant and a handler."""


def summarise(measurements: Sequence[Measurement]) -> dict[Key, Figures]:
    """All there are, in the order in which they were first measured.

    :raises KeyError: the bare application was not measured in a round
    """
    groups: dict[Key, list[Measurement]] = {}
    for each in measurements:
        groups.setdefault((each.contestant, each.handler), []).append(each)
    return {key: _figures(mine, groups[_bare(key)]) for key, mine in groups.items()}


def _bare(key: Key) -> Key:
    return CONTESTANTS[key[0]].bare, key[1]


def _figures(mine: Sequence[Measurement], bare: Sequence[Measurement]) -> Figures:
    rss = statistics.median(each.rss for each in bare)
    return Figures(
        qps=spread(each.saturation.qps for each in mine),
        ratio=_against(mine, bare, lambda each: each.saturation.qps),
        efficiency=_against(mine, bare, lambda each: 1 / each.cpu["saturation"]),
        room=_against(mine, bare, lambda each: 1000 / each.cpu["saturation"], lambda each: each.saturation.qps),
        throughput=spread(each.saturation.throughput for each in mine),
        mean=spread(each.saturation.mean for each in mine),
        p99=spread(each.saturation.p99 for each in mine),
        p99_ratio=_against(mine, bare, lambda each: each.saturation.p99),
        at={share: _at_rate(share, mine, bare) for share in mine[0].fixed},
        cpu={phase: spread(each.cpu[phase] for each in mine) for phase in mine[0].cpu},
        rss=spread(each.rss for each in mine),
        rss_added=spread(each.rss - rss for each in mine),
        expected=_total(each.expected for each in mine),
        delivered=_total(each.delivered for each in mine),
        exit=spread(each.ending.seconds for each in mine),
        killed=sum(each.ending.killed for each in mine),
    )


def _at_rate(share: str, mine: Sequence[Measurement], bare: Sequence[Measurement]) -> AtRate:
    return AtRate(
        rate=mine[0].fixed[share].rate,
        p50=spread(each.fixed[share].p50 for each in mine),
        p99=spread(each.fixed[share].p99 for each in mine),
        p99_ratio=_against(mine, bare, lambda each: each.fixed[share].p99),
        longest=max(each.fixed[share].longest for each in mine),
        answered=min(each.fixed[share].answered for each in mine),
    )


def _against(
    mine: Sequence[Measurement],
    bare: Sequence[Measurement],
    value: Callable[[Measurement], float],
    of_bare: Callable[[Measurement], float] | None = None,
) -> Spread:
    """Each value by the median of the bare application's in its round.

    :param of_bare: the bare application's value, where that is another one
    """
    rounds: dict[int, list[float]] = {}
    for each in bare:
        rounds.setdefault(each.number, []).append((of_bare or value)(each))
    return spread(value(each) / statistics.median(rounds[each.number]) for each in mine)


def _total(parts: Iterable[Delivered]) -> Delivered:
    found = list(parts)
    return Delivered(sum(each.segments for each in found), sum(each.logs for each in found))


def handlers_of(figures: Mapping[Key, Figures]) -> list[str]:
    """The handlers that were measured, in the order of the tables."""
    return [handler for handler in HANDLERS if any(of == handler for _, of in figures)]


def contestants_of(figures: Mapping[Key, Figures]) -> list[str]:
    """The contestants that were measured, in the order of the tables."""
    return [name for name in CONTESTANTS if any(of == name for of, _ in figures)]
