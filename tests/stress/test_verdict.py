"""The soak's verdict finds what is planted, and only that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from stress.soak.cells import Cell
from stress.soak.evidence import Counts, Ending, Evidence, LogLine, Sample
from stress.soak.growth import MIB
from stress.soak.verdict import judge
from swagent.signals import Signal

Plant = Callable[[Evidence], Evidence]
ASKED = 1000
AMBIGUOUS = 20
# of what was ambiguous, so many came nevertheless
ARRIVED = 5


def ledgers(share: float) -> dict[Signal, Counts]:
    """As they are when a share of the run is over: the rest of what was offered waits."""
    offered = int(ASKED * share)
    confirmed = max(0, offered - AMBIGUOUS)
    counts = Counts(offered, confirmed, dropped={"ambiguous": offered - confirmed})
    return {Signal.SEGMENT: counts, Signal.LOG: counts, Signal.EVENT: Counts(1, 1), Signal.METER: Counts()}


def sample(at: float, share: float) -> Sample:
    return Sample(at, rss=40 * MIB, descriptors=20, threads=3, tasks=15, ledgers=ledgers(share))


def honest(seconds: float = 200.0) -> Evidence:
    """An application about which nothing is wrong."""
    names = [str(number) for number in range(ASKED)]
    confirmed, seen = Counter(names[AMBIGUOUS:]), Counter(names[AMBIGUOUS - ARRIVED :])
    running = [sample(at * seconds / 100, at / 100) for at in range(100)]
    return Evidence(
        Cell("grpc", "trio"),
        asked=ASKED,
        answered=ASKED,
        calm=[0.01] * ASKED,
        samples=[*running, replace(sample(seconds, 1.0), is_last=True)],
        confirmed={Signal.SEGMENT: confirmed, Signal.LOG: confirmed.copy(), Signal.EVENT: Counter(["e1"])},
        seen={Signal.SEGMENT: seen, Signal.LOG: seen.copy(), Signal.EVENT: Counter(["e1"])},
        recovered=3.0,
        log=[LogLine(0.0, "WARNING", "no report to %s", ""), LogLine(3.0, "INFO", "reporting to %s", "")],
        ending=Ending(-15, 0.4),
    )


@pytest.mark.parametrize("seconds", [200.0, 1800.0])
def test_nothing_is_wrong_with_an_honest_run(seconds: float) -> None:
    assert judge(honest(seconds)) == []


def at_the_end(evidence: Evidence, signal: Signal, counts: Counts, at: int = -1) -> Evidence:
    """With other counts of one signal in the last sample, or another one."""
    samples = [*evidence.samples]
    samples[at] = replace(samples[at], ledgers={**samples[at].ledgers, signal: counts})
    return replace(evidence, samples=samples)


def seen(signal: Signal, change: Callable[[Counter[str]], object]) -> Plant:
    def plant(evidence: Evidence) -> Evidence:
        change(evidence.seen[signal])
        return evidence

    return plant


def another_came_for(name: str, other: str) -> Callable[[Counter[str]], object]:
    return lambda names: (names.pop(name), names.update({other: 1}))


def not_recorded(evidence: Evidence) -> Evidence:
    evidence.confirmed[Signal.LOG].popitem()
    less = Counts(ASKED - 1, ASKED - 1 - AMBIGUOUS, dropped={"ambiguous": AMBIGUOUS})
    return at_the_end(evidence, Signal.LOG, less)


def lost_by_the_transport(evidence: Evidence) -> Evidence:
    del evidence.confirmed[Signal.SEGMENT]["999"]
    return evidence


def leak(field: str, each: int) -> Plant:
    """So much more of something in each sample."""

    def plant(evidence: Evidence) -> Evidence:
        more = ((old, {field: getattr(old, field) + at * each}) for at, old in enumerate(evidence.samples))
        return replace(evidence, samples=[replace(old, **values) for old, values in more])

    return plant


def logged(at: float, level: str, form: str) -> Plant:
    return lambda evidence: replace(evidence, log=[*evidence.log, LogLine(at, level, form, "")])


DUPLICATE = seen(Signal.SEGMENT, lambda names: names.update(["999"]))
MORE_THAN_WAS_AMBIGUOUS = Counts(ASKED, ASKED - AMBIGUOUS, dropped={"expired": 16, "ambiguous": 4})
PLANTED: dict[str, tuple[Plant, ...]] = {
    "every request is answered": (lambda evidence: replace(evidence, failures=Counter(["answered 500"])),),
    "the ledger balances": (lambda evidence: at_the_end(evidence, Signal.METER, Counts(balanced=False), 50),),
    "one record a request": (not_recorded,),
    "nothing comes twice": (DUPLICATE, seen(Signal.EVENT, lambda names: names.update(["e1"]))),
    "what is confirmed came": (seen(Signal.SEGMENT, another_came_for("999", "0")), lost_by_the_transport),
    "what came is accounted for": (
        lambda evidence: at_the_end(evidence, Signal.SEGMENT, MORE_THAN_WAS_AMBIGUOUS),
        seen(Signal.LOG, another_came_for(str(AMBIGUOUS - 1), "1000")),
    ),
    "nothing is left, or given up without need": (
        lambda evidence: at_the_end(evidence, Signal.EVENT, Counts(2, 1, in_flight=1)),
        lambda evidence: at_the_end(evidence, Signal.EVENT, Counts(2, 1, dropped={"shutdown": 1})),
        lambda evidence: at_the_end(evidence, Signal.METER, Counts(1, 0, refused={"encode_error": 1})),
    ),
    "it recovers": (lambda evidence: replace(evidence, recovered=None),),
    "memory does not grow": (leak("rss", MIB // 2),),
    "nothing leaks": (leak("descriptors", 1), leak("threads", 1), leak("tasks", 1)),
    "the output is clean": (lambda evidence: replace(evidence, complaints=["Traceback (most recent call last):"]),),
    "one line per reason": (
        logged(20.0, "WARNING", "no report to %s (2 more like it since)"),
        logged(90.0, "INFO", "reporting to %s, after 2 more failures"),
    ),
    "it stops in time": (
        lambda evidence: replace(evidence, ending=Ending(0, 11.0)),
        lambda evidence: replace(evidence, ending=Ending(1, 0.1)),
    ),
}


@pytest.mark.parametrize(
    ("clause", "plant"), [(clause, plant) for clause, plants in PLANTED.items() for plant in plants]
)
def test_a_planted_fault_is_found_and_named(clause: str, plant: Plant) -> None:
    assert [violation.clause for violation in judge(plant(honest()))] == [clause]


def test_a_small_slope_is_found_in_a_long_run_only() -> None:
    growing = leak("rss", MIB // 20)
    assert judge(growing(honest(200))) == []
    assert [str(each) for each in judge(growing(honest(1800)))] == [
        "grpc-trio: memory does not grow: 10.00 MiB/h, 4.04 are allowed"
    ]
