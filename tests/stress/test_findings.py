"""The judge of the findings: right, wrong, missed, false; and its short form, with real services."""

from __future__ import annotations

import pytest

from stress.findings import command
from stress.findings.cases import Case
from stress.findings.lateness import Traces
from stress.findings.verdict import Verdict, is_good, judge, table
from swagent.collector.findings.finding import Baseline, Finding, Kind

SLOW = Case("database", "slow_dependency", "SELECT balance", frozenset(["cancelled"]), levels=(1, 2, 3))


def finding(kind: Kind, sentence: str = "95 % · payments → db · SELECT balance · 3 s") -> Finding:
    return Finding(kind, sentence, "payments", "SELECT balance", "high", "#/traces")


@pytest.mark.parametrize(
    ("case", "found", "result"),
    [
        (SLOW, [finding("slow_dependency")], "right"),
        (SLOW, [finding("slow_dependency"), finding("cancelled")], "right"),
        (SLOW, [], "missed"),
        (SLOW, [finding("cancelled")], "missed"),
        (SLOW, [finding("slow_dependency", "SELECT other")], "wrong"),
        (SLOW, [finding("slow_dependency"), finding("losses")], "wrong"),
        (Case("calm"), [], "calm"),
        (Case("calm"), [finding("losses")], "false"),
    ],
)
def test_a_verdict(case: Case, found: list[Finding], result: str) -> None:
    assert judge(case, "middle", found, {}).result == result


BUSY = Finding(
    "slow_dependency", "81 % · SELECT balance · 60 ms, usually 9 ms", "stock", "SELECT balance", "high", "#/traces",
    ms=240, count=4, baseline=Baseline(9, 80),
)  # fmt: skip


@pytest.mark.parametrize(("late", "result"), [(0.0, "false"), (20.0, "false"), (27.0, "calm")])
def test_time_for_which_a_busy_machine_kept_processes_waiting_is_nothing_of_the_application(
    late: float, result: str
) -> None:
    said = judge(Case("calm"), "middle", [BUSY], {BUSY: Traces(late)})
    assert said.result == result
    assert ("(a busy machine: slow_dependency: 81 %" in table([said])) is (result == "calm")
    planted = Case("database", "slow_dependency", "SELECT balance", levels=(1, 2, 3))
    assert judge(planted, "middle", [BUSY], {BUSY: Traces(late)}).result == "right"


def verdict(result: str, case: Case = SLOW, severity: str = "middle") -> Verdict:
    return Verdict(case, severity, result, ())


def test_the_goal_is_nine_of_ten_at_the_middle_and_nothing_false() -> None:
    right = [verdict("right")] * 9
    assert is_good([*right, verdict("missed")])
    assert not is_good([*right[:8], verdict("missed"), verdict("wrong")])
    assert is_good([*right, verdict("missed", severity="mild")])
    assert is_good([*right, verdict("calm", Case("calm"))])
    assert not is_good([*right, verdict("false", Case("calm"))])
    assert is_good([*right, verdict("false", Case("pages", hard="it looks alike"))])
    assert is_good([verdict("calm", Case("calm"))])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_short_form_finds_what_is_planted_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    status = command.main(["--short"])
    assert status == 0, capsys.readouterr().out
