"""What happens to the collectors of a fleet, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from .agent import Agent
from .clock import Clock
from .collectors import Collector, Name, State
from .course import Course, Recovery

_QUIET = 60.0
_LASTS = 600.0
_RESTART, _BETWEEN = 20.0, 40.0
_AFTER = 300.0
# Seconds between two calls of an agent: one under load, one that is used now and then, and an idle one with its meters,
# polls and heartbeat.
_PERIODS = (0.5, 5.0, 20.0)


@dataclass(frozen=True)
class Change:
    """At a time, a collector becomes something else."""

    at: float
    collector: int
    state: State


Scenario = Callable[[int], list[Change]]


def rolling(count: int) -> list[Change]:
    """Each is restarted, one after the other."""
    begins = [_QUIET + number * (_RESTART + _BETWEEN) for number in range(count)]
    changes = [[Change(at, number, "dead"), Change(at + _RESTART, number, "well")] for number, at in enumerate(begins)]
    return [each for pair in changes for each in pair]


def one(state: State) -> Scenario:
    """One collector is so for ten minutes."""
    return lambda _: [Change(_QUIET, 0, state), Change(_QUIET + _LASTS, 0, "well")]


def all_dead(count: int) -> list[Change]:
    """All are dead for ten minutes."""
    ends = [Change(_QUIET, number, "dead") for number in range(count)]
    return [*ends, *(Change(_QUIET + _LASTS, number, "well") for number in range(count))]


SCENARIOS: Mapping[str, Scenario] = {
    "rolling restart": rolling,
    "one dead": one("dead"),
    "one machine gone": one("gone"),
    "all dead": all_dead,
    "one refuses": one("refuses"),
    "one too slow": one("slow"),
}


@dataclass(frozen=True)
class Outcome:
    """What came of one run.

    :ivar worst: of the recoveries, the one with the highest peak above its mean
    :ivar longest: seconds of the longest recovery
    :ivar away: agents that have no collector at the end of what happened
    :ivar apart: by how much the collectors' connections differ five minutes after it, as a share of their mean
    :ivar at_rest: connections that are made a second when nothing happens
    """

    worst: Recovery | None
    longest: float
    away: int
    apart: float
    refusals: int
    at_rest: float


def run(
    scenario: Scenario, agents: int, collectors: int, most_age: float, *, seed: int, rate: float, has_balancer: bool
) -> Outcome:
    """Run it. The same arguments, the same outcome."""
    random, clock = Random(f"{seed}/{agents}/{collectors}"), Clock()
    course = Course(clock)
    all_of_them = [Collector(clock, f"10.0.0.{number + 1}", rate) for number in range(collectors)]
    name = Name(all_of_them, random, has_balancer=has_balancer)
    for number in range(agents):
        agent = Agent(clock, name, course, random, _PERIODS[number % len(_PERIODS)], most_age)
        agent.begin(random.choice(all_of_them), most_age / 2 * random.random())
    changes = scenario(collectors)
    for change in changes:
        clock.run_until(change.at)
        all_of_them[change.collector].become(change.state)
        course.possible(is_possible=any(each.is_up for each in all_of_them))
    end = changes[-1].at
    away = course.away
    clock.run_until(end + _AFTER)
    return _outcome(course, all_of_them, end, away)


def _outcome(course: Course, collectors: list[Collector], end: float, away: int) -> Outcome:
    loads = [len(each.clients) for each in collectors]
    worst = max(course.recoveries, key=lambda each: each.ratio, default=None)
    return Outcome(
        worst,
        max((each.seconds for each in course.recoveries), default=0.0),
        away,
        (max(loads) - min(loads)) * len(loads) / max(sum(loads), 1),
        course.refusals,
        course.connections(end + _AFTER / 2, end + _AFTER),
    )
