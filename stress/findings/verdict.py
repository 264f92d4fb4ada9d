"""Whether what was found is what was planted; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from swagent.collector.findings.finding import Finding

from .cases import MIDDLE, Case
from .lateness import Traces, is_the_machines

RIGHT, WRONG, MISSED, FALSE, CALM = "right", "wrong", "missed", "false", "calm"
GOAL = 0.9


class Verdict(NamedTuple):
    """The judgement of one run.

    :ivar result: `right`, `wrong` (something else was found), `missed` (nothing was); of a healthy variant `calm`, or
        `false` where something was found
    :ivar said: the sentences that are not right
    :ivar machine: those that are true of a machine which was busy with other things, and are not counted
    """

    case: Case
    severity: str
    result: str
    said: tuple[str, ...]
    machine: tuple[str, ...] = ()


def judge(case: Case, severity: str, findings: Sequence[Finding], traces: Mapping[Finding, Traces]) -> Verdict:
    """Judge what was found in a case.

    :param traces: what is known of those of each finding
    """
    right = [each for each in findings if each.kind == case.kind and case.about in each.sentence]
    others = [each for each in findings if each not in right and each.kind not in case.also]
    machine = [each for each in others if is_the_machines(each, traces.get(each, Traces()))]
    others = [each for each in others if each not in machine]
    said, unsaid = _texts(others), _texts(machine)
    if not case.is_planted:
        return Verdict(case, severity, FALSE if others else CALM, said, unsaid)
    return Verdict(case, severity, WRONG if others else RIGHT if right else MISSED, said, unsaid)


def _texts(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(f"{each.kind}: {each.sentence}" for each in findings)


def table(verdicts: Iterable[Verdict]) -> str:
    """The verdicts as lines, and how many are right."""
    lines = []
    for verdict in verdicts:
        expected = verdict.case.kind or "nothing"
        lines.append(f"{verdict.case.name:<16}{expected:<20}{verdict.severity:<9}{verdict.result}")
        lines += [f"{'':<16}{each}" for each in verdict.said]
        lines += [f"{'':<16}(a busy machine: {each})" for each in verdict.machine]
        if verdict.case.hard and verdict.result not in (RIGHT, CALM):
            lines.append(f"{'':<16}(expected: {verdict.case.hard})")
    return "\n".join(lines)


def sums(verdicts: Sequence[Verdict]) -> str:
    """How many are right, of each severity, without those that are expected to fail."""
    counted = [each for each in verdicts if not each.case.hard]
    lines = []
    for severity in dict.fromkeys(each.severity for each in counted if each.case.is_planted):
        found = [each.result for each in counted if each.case.is_planted and each.severity == severity]
        parts = ", ".join(f"{found.count(result)} {result}" for result in (RIGHT, WRONG, MISSED))
        lines.append(f"planted, {severity}: {parts} of {len(found)}")
    healthy = [each.result for each in counted if not each.case.is_planted]
    if healthy:
        lines.append(f"healthy: {healthy.count(FALSE)} false of {len(healthy)}")
    hard = [each.result in (RIGHT, CALM) for each in verdicts if each.case.hard]
    if hard:
        lines.append(f"expected to fail: {hard.count(False)} of {len(hard)} do")
    return "\n".join(lines)


def is_good(verdicts: Iterable[Verdict]) -> bool:
    """Whether the goal is reached: nine of ten at the middle severity, and nothing in what is healthy."""
    counted = [each for each in verdicts if not each.case.hard]
    planted = [each.result == RIGHT for each in counted if each.case.is_planted and each.severity == MIDDLE]
    return all(planted.count(True) >= GOAL * len(planted) for _ in planted[:1]) and not any(
        each.result == FALSE for each in counted
    )
