"""The soak's verdict finds what is planted, and only that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from stress.soak.cells import Cell
from stress.soak.evidence import Counts, Ending, Evidence, LogLine, Sample
from stress.soak.growth import MIB
from stress.soak.report import as_document, render
from stress.soak.verdict import judge
from swagent.signals import Signal

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


def at_the_end(evidence: Evidence, signal: Signal, counts: Counts) -> None:
    last = evidence.samples[-1]
    evidence.samples[-1] = replace(last, ledgers={**last.ledgers, signal: counts})


def unanswered(evidence: Evidence) -> None:
    evidence.asked += 1


def wrong_answer(evidence: Evidence) -> None:
    evidence.failures["ValueError('answered 500')"] += 1


def out_of_balance(evidence: Evidence) -> None:
    middle = evidence.samples[50]
    evidence.samples[50] = replace(middle, ledgers={**middle.ledgers, Signal.METER: Counts(balanced=False)})


def no_word_at_the_end(evidence: Evidence) -> None:
    evidence.samples.pop()


def not_recorded(evidence: Evidence) -> None:
    at_the_end(evidence, Signal.LOG, Counts(ASKED - 1, ASKED - 1 - AMBIGUOUS, dropped={"ambiguous": AMBIGUOUS}))
    evidence.confirmed[Signal.LOG].popitem()


def duplicate(evidence: Evidence) -> None:
    evidence.seen[Signal.SEGMENT]["999"] += 1


def duplicate_event(evidence: Evidence) -> None:
    evidence.seen[Signal.EVENT]["e1"] += 1


def lost_though_another_came_for_it(evidence: Evidence) -> None:
    del evidence.seen[Signal.SEGMENT]["999"]
    evidence.seen[Signal.SEGMENT]["0"] = 1


def lost_by_the_transport(evidence: Evidence) -> None:
    del evidence.confirmed[Signal.SEGMENT]["999"]


def more_than_was_ambiguous(evidence: Evidence) -> None:
    confirmed = ASKED - AMBIGUOUS
    at_the_end(evidence, Signal.SEGMENT, Counts(ASKED, confirmed, dropped={"expired": 16, "ambiguous": 4}))


def of_no_request(evidence: Evidence) -> None:
    del evidence.seen[Signal.LOG][str(AMBIGUOUS - 1)]
    evidence.seen[Signal.LOG]["1000"] = 1


def inherited(evidence: Evidence) -> None:
    at_the_end(evidence, Signal.EVENT, Counts(2, 1, in_flight=1))


def given_up_in_the_stop(evidence: Evidence) -> None:
    at_the_end(evidence, Signal.EVENT, Counts(2, 1, dropped={"shutdown": 1}))


def refused_for_no_reason(evidence: Evidence) -> None:
    at_the_end(evidence, Signal.METER, Counts(1, 0, refused={"encode_error": 1}))


def never_again(evidence: Evidence) -> None:
    evidence.recovered = None


def leak(field: str, each: int) -> Callable[[Evidence], None]:
    """So much more of something in each sample."""

    def plant(evidence: Evidence) -> None:
        for index, old in enumerate(evidence.samples):
            values = {field: getattr(old, field) + index * each}
            evidence.samples[index] = replace(old, **values)

    return plant


def traceback(evidence: Evidence) -> None:
    evidence.complaints.append("Traceback (most recent call last):")


def chatter(evidence: Evidence) -> None:
    evidence.log.append(LogLine(20.0, "WARNING", "no report to %s (2 more like it since)", ""))


def an_end_without_a_begin(evidence: Evidence) -> None:
    evidence.log += [LogLine(90.0, "INFO", "reporting to %s, after 2 more failures", "")]


def slow_to_stop(evidence: Evidence) -> None:
    evidence.ending = Ending(0, 11.0)


def ended_badly(evidence: Evidence) -> None:
    evidence.ending = Ending(1, 0.1)


PLANTED: dict[str, tuple[Callable[[Evidence], None], ...]] = {
    "every request is answered": (wrong_answer,),
    "the ledger balances": (out_of_balance,),
    "one record a request": (not_recorded,),
    "nothing comes twice": (duplicate, duplicate_event),
    "what is confirmed came": (lost_though_another_came_for_it, lost_by_the_transport),
    "what came is accounted for": (more_than_was_ambiguous, of_no_request),
    "nothing is left, or given up without need": (inherited, given_up_in_the_stop, refused_for_no_reason),
    "it recovers": (never_again,),
    "memory does not grow": (leak("rss", MIB // 2),),
    "nothing leaks": (leak("descriptors", 1), leak("threads", 1), leak("tasks", 1)),
    "the output is clean": (traceback,),
    "one line per reason": (chatter, an_end_without_a_begin),
    "it stops in time": (slow_to_stop, ended_badly),
}


@pytest.mark.parametrize(
    ("clause", "plant"), [(clause, plant) for clause, plants in PLANTED.items() for plant in plants]
)
def test_a_planted_fault_is_found_and_named(clause: str, plant: Callable[[Evidence], None]) -> None:
    evidence = honest()
    plant(evidence)
    assert [violation.clause for violation in judge(evidence)] == [clause]


def test_an_unanswered_request_is_found() -> None:
    evidence = honest()
    unanswered(evidence)
    assert "grpc-trio: every request is answered: 1001 were asked, 1000 answered " in map(str, judge(evidence))


def test_an_application_that_did_not_come_to_its_end_is_found() -> None:
    evidence = honest()
    no_word_at_the_end(evidence)
    assert "the ledger balances" in {violation.clause for violation in judge(evidence)}


def test_a_small_slope_is_found_in_a_long_run_only() -> None:
    growing = leak("rss", MIB // 20)
    short, long = honest(200), honest(1800)
    growing(short)
    growing(long)
    assert judge(short) == []
    assert [str(each) for each in judge(long)] == [
        "grpc-trio: memory does not grow: 10.00 MiB/h, 4.04 are allowed"
    ]  # fmt: skip


def test_the_report_shows_every_cell_and_each_violation() -> None:
    evidence = honest()
    duplicate(evidence)
    violations = judge(evidence)
    text = render([evidence], violations)
    assert "| grpc-trio | 1000 / 1000 | segment | 1000 | 980 | 20 | 0 | 1 | 10.0 / 10.0 |" in text
    assert text.endswith("- grpc-trio: nothing comes twice: 1 segments came more than once, such as ['999']")
    assert render([honest()], []).endswith("No violation.")
    document = as_document(7, [], [evidence], violations)
    assert document["cells"]["grpc-trio"]["violations"] == [str(violations[0])]
