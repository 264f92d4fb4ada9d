"""The judge of the findings: right, wrong, missed, false; and its short form, with real services."""

from __future__ import annotations

import pytest

from stress.findings import command, healthy, loops, messaging, others, planted, pools, tenants
from stress.findings.cases import CASES, HARD, HEALTHY, OTHERS, PLANTED, SEVERITIES, Case
from stress.findings.handlers import FOUND
from stress.findings.lateness import PERIOD, Late, Traces, late_ms, late_within, took_within
from stress.findings.verdict import Verdict, is_good, judge, sums, table
from swagent.collector.findings.finding import Baseline, Finding, Kind
from swagent.collector.store.trace_records import Segment, Span

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


@pytest.mark.parametrize("kind", ["losses", "error_chain"])
def test_findings_without_a_time_are_not_the_machine_s(kind: Kind) -> None:
    assert judge(Case("calm"), "middle", [finding(kind)], {finding(kind): Traces(1000.0)}).result == "false"


OWN = Finding(
    "slow_own_code", "50 % · shop · GET:/work · its own code · 26 ms", "shop", "GET:/work", "high", "#/traces",
    ms=38, count=2, baseline=Baseline(20, 80),
)  # fmt: skip


@pytest.mark.parametrize(("late", "result"), [(0.0, "false"), (7.0, "false"), (8.0, "calm")])
def test_own_code_explains_a_part_of_a_request_and_the_whole_request_is_late(late: float, result: str) -> None:
    def trace(ms: int) -> list[Segment]:
        spans = (Span(0, -1, 0, ms, "GET:/work", kind="Entry"), Span(1, 0, 5, 15, "/part", kind="Exit"))
        return [Segment("t", "t.1", "shop", "one", spans), Segment("t", "t.2", "stock", "one", (spans[0],))]

    took = took_within(OWN, [trace(50), trace(54)])
    assert took == 52
    assert judge(Case("calm"), "middle", [OWN], {OWN: Traces(late, took)}).result == result


def test_a_finding_that_is_about_no_request_took_none() -> None:
    assert took_within(OWN, [[], [Segment("t", "t.1", "shop", "one", (Span(0, -1, 0, 9, "GET:/work"),))]]) == 0


def test_a_process_is_late_within_the_traces_that_it_kept_waiting() -> None:
    def trace(start: int, end: int) -> list[Segment]:
        return [Segment("t", "t.1", "stock", "one", (Span(0, -1, start, end, "GET:/part"),))]

    late = [Late(1000.0, 50.0), Late(1060.0, 30.0), Late(2000.0, 500.0)]
    assert late_within(late, [trace(970, 1040)]) == 40.0
    assert late_within(late, [trace(970, 1040), trace(1900, 1910)]) == 25.0
    assert late_within(late, [trace(1001, 1020), []]) == 0.0


@pytest.mark.parametrize(("slept", "own", "late"), [(0, 0, 0), (60, 0, 60), (60, 60, 0), (60, 20, 40)])
def test_a_sleep_is_late_without_the_time_that_its_process_used(slept: float, own: float, late: float) -> None:
    assert late_ms(PERIOD + slept / 1000, own / 1000) == pytest.approx(late)


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


def test_the_sums_and_the_table() -> None:
    verdicts = [
        verdict("right"), verdict("missed"), verdict("missed", severity="mild"), verdict("false", Case("calm")),
        verdict("calm", Case("other")), verdict("false", Case("pages", hard="it looks alike")),
    ]  # fmt: skip
    assert sums(verdicts).splitlines() == [
        "planted, middle: 1 right, 0 wrong, 1 missed of 2",
        "planted, mild: 0 right, 0 wrong, 1 missed of 1",
        "healthy: 1 false of 2",
        "expected to fail: 1 of 1 do",
    ]
    lines = table([judge(Case("pages", hard="it looks alike"), "middle", [finding("n_plus_one", "12 times")], {})])
    assert [line.split() for line in lines.splitlines()] == [
        ["pages", "nothing", "middle", "false"],
        ["n_plus_one:", "12", "times"],
        ["(expected:", "it", "looks", "alike)"],
    ]


def test_each_case_has_its_handlers_and_there_are_enough() -> None:
    assert planted
    assert healthy
    assert others
    assert pools
    assert loops
    assert messaging
    assert tenants
    assert set(FOUND) == set(CASES)
    assert len(PLANTED) >= 10 <= len(HEALTHY)
    assert len(CASES) == len(PLANTED) + len(HEALTHY) + len(OTHERS) + len(HARD)
    assert all("shop" in handlers for handlers in FOUND.values())
    assert all(case.about for case in PLANTED)
    assert all(list(case.levels) != sorted(case.levels) or case.levels[0] < case.levels[2] for case in PLANTED)
    assert [PLANTED[0].level(each) for each in SEVERITIES] == [60, 250, 800]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_short_form_finds_what_is_planted_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    status = command.main(["--short"])
    assert status == 0, capsys.readouterr().out
