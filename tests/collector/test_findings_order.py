"""The order of findings: the greatest trouble first, and a doubtful one not before a sure one of about its size."""

from __future__ import annotations

import pytest

from swagent.collector.findings.finding import Confidence, Finding, Kind
from swagent.collector.findings.ordering import MOST, ordered

REQUESTS, MS = 1000, 100_000


def finding(name: str, ms: int = 0, sure: Confidence = "high", failures: int = 0, kind: Kind = "pool") -> Finding:
    return Finding(kind, "", "shop", name, sure, "", ms=ms, failures=failures)


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param([finding("more", 9000), finding("less", 2000)], id="what explains more time"),
        pytest.param([finding("fails", failures=90), finding("slow", 8000)], id="a share of requests, and one of time"),
        pytest.param([finding("sure", 8000), finding("doubtful", 15_000, "low")], id="a sure one of like size"),
        pytest.param([finding("doubtful", 50_000, "low"), finding("sure", 900)], id="a doubtful one that is much more"),
        pytest.param(
            [finding("sure", 8000), finding("probable", 10_000, "medium"), finding("doubtful", 12_000, "low")],
            id="each confidence",
        ),
        pytest.param([finding("sure", 500), finding("equal", 500, "medium")], id="of equal ones the sure one"),
        pytest.param([finding("lost", kind="losses"), finding("slow", 1500)], id="a loss before what is little"),
        pytest.param([finding("slow", 2500), finding("lost", kind="losses")], id="a loss behind what is more"),
        pytest.param(
            [finding("small", 10, "low"), finding("hint", 60_000, "low", kind="sequential_awaits")],
            id="a hint is the last, however much it would save",
        ),
    ],
)
def test_the_first_is_the_one_that_explains_most_as_far_as_it_is_sure(expected: list[Finding]) -> None:
    names = [each.operation for each in expected]
    for given in (expected, expected[::-1]):
        assert [each.operation for each in ordered(given, REQUESTS, MS)] == names


def test_of_a_kind_and_an_operation_there_is_one_the_surer_of_two_alike() -> None:
    [kept] = ordered([finding("GET:/x", 900, "low"), finding("GET:/x", 800)], REQUESTS, MS)
    assert kept.confidence == "high"


def test_an_answer_has_a_bounded_number_and_time_that_is_none_is_no_error() -> None:
    many = [finding(f"GET:/{number}", number) for number in range(MOST + 1)]
    assert [each.ms for each in ordered(many, 0, 0)] == [*range(MOST, 0, -1)]
