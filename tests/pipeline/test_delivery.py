from __future__ import annotations

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
    ],
    ids=["unsent", "ambiguous", "rejected"],
)
def test_the_table(error: DeliveryError, at_most_once: Step, at_least_once: Step) -> None:
    assert decide(error, again=False) is at_most_once
    assert decide(error, again=True) is at_least_once


def test_unsent_at_a_repeat_is_not_unsent_as_a_whole() -> None:
    """The first attempt may have arrived, so the batch must not look like new."""
    assert decide(UNSENT, attempt=2, again=True) is Step.REPEAT
    assert decide(UNSENT, attempt=3, again=True) is Step.DROP_AMBIGUOUS


def test_repeats_end_with_the_attempts() -> None:
    assert decide(AMBIGUOUS, attempt=2, again=True) is Step.REPEAT
    assert decide(AMBIGUOUS, attempt=3, again=True) is Step.DROP_AMBIGUOUS


def test_repeats_end_with_the_time() -> None:
    assert decide(AMBIGUOUS, seconds=59.9, again=True) is Step.REPEAT
    assert decide(AMBIGUOUS, seconds=60.0, again=True) is Step.DROP_AMBIGUOUS


def test_repeats_end_with_the_budget() -> None:
    assert decide(AMBIGUOUS, again=True, tokens=1.0) is Step.REPEAT
    assert decide(AMBIGUOUS, again=True, tokens=0.9) is Step.DROP_AMBIGUOUS


def test_an_error_of_no_known_kind_counts_as_ambiguous() -> None:
    assert decide(DeliveryError("?"), again=False) is Step.DROP_AMBIGUOUS
    assert decide(DeliveryError("?"), again=True) is Step.DROP_AMBIGUOUS


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
