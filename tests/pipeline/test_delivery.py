from __future__ import annotations

from typing import Any

import pytest

from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent.pipeline.delivery import Policy, RetryBudget, Step

UNSENT = RetryableError("unsent")
AMBIGUOUS = AmbiguousError("ambiguous")
REJECTED = RejectedError("rejected")


def decide(error: DeliveryError, *, attempt: int = 1, seconds: float = 0.0, again: bool, tokens: float = 10.0) -> Step:
    return Policy(at_least_once=again).decide(error, attempt, seconds, RetryBudget(tokens=tokens))


@pytest.mark.parametrize(
    ("error", "at_most_once", "at_least_once"),
    [
        (UNSENT, Step.RELEASE, Step.RELEASE),
        (AMBIGUOUS, Step.DROP_AMBIGUOUS, Step.REPEAT),
        (REJECTED, Step.DROP_REJECTED, Step.DROP_REJECTED),
        (DeliveryError("of no known kind"), Step.DROP_AMBIGUOUS, Step.DROP_AMBIGUOUS),
    ],
    ids=str,
)
def test_the_table(error: DeliveryError, at_most_once: Step, at_least_once: Step) -> None:
    assert decide(error, again=False) is at_most_once
    assert decide(error, again=True) is at_least_once


@pytest.mark.parametrize(
    ("error", "known", "expected"),
    [
        # the first attempt may have arrived, so the batch must not look like new
        (UNSENT, {"attempt": 2}, Step.REPEAT),
        (UNSENT, {"attempt": 3}, Step.DROP_AMBIGUOUS),
        (AMBIGUOUS, {"attempt": 2}, Step.REPEAT),
        (AMBIGUOUS, {"attempt": 3}, Step.DROP_AMBIGUOUS),
        (AMBIGUOUS, {"seconds": 59.9}, Step.REPEAT),
        (AMBIGUOUS, {"seconds": 60.0}, Step.DROP_AMBIGUOUS),
        (AMBIGUOUS, {"tokens": 1.0}, Step.REPEAT),
        (AMBIGUOUS, {"tokens": 0.9}, Step.DROP_AMBIGUOUS),
    ],
    ids=str,
)
def test_repeats_end(error: DeliveryError, known: dict[str, Any], expected: Step) -> None:
    assert decide(error, again=True, **known) is expected


def test_the_budget_is_one_repeat_for_ten_successes() -> None:
    budget = RetryBudget(tokens=0.0)
    for _ in range(10):
        assert not budget.spend()
        budget.earn()
    assert budget.tokens == pytest.approx(1.0)
    budget.tokens = 1.0
    assert budget.spend()
    assert not budget.spend()


def test_savings_are_bounded() -> None:
    budget = RetryBudget()
    for _ in range(1000):
        budget.earn()
    assert sum(budget.spend() for _ in range(100)) == 10
