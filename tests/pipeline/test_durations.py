from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.pipeline.durations import Durations

BUCKET = 2 ** (1 / 4)
times = st.floats(0.001, 60.0)


def durations_of(*seconds: float) -> Durations:
    durations = Durations()
    for each in seconds:
        durations.add(each)
    return durations


@pytest.mark.parametrize(
    ("known", "asked", "is_slow"),
    [
        ([0.01] * 19, 60.0, False),
        ([0.01] * 20, 60.0, True),
        ([0.01] * 100, 0.01, False),
        (([0.01] * 49 + [1.0]) * 20, 1.0, True),
        (([0.01] * 49 + [1.0]) * 20, 0.01, False),
        (([0.01] * 9 + [1.0]) * 20, 1.0, False),
        ([0.01] * 10_000 + [1.0] * 2000, 1.0, False),
        ([0.01] * 10_000 + [1.0] * 2000, 3.0, True),
    ],
    ids=[
        "not enough are known", "enough are known", "as long as usual", "one in fifty", "beside one in fifty",
        "one in ten", "what is usual changes", "more than what is usual by now",
    ],
)  # fmt: skip
def test_what_is_slow(known: list[float], asked: float, is_slow: bool) -> None:
    assert durations_of(*known).is_slow(asked) is is_slow


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-9, 1e9])
def test_odd_times_cost_nothing(seconds: float) -> None:
    durations = durations_of(*[seconds] * 30)
    assert not durations.is_slow(seconds)


@pytest.mark.gate
@given(st.lists(times, min_size=20, max_size=400), times)
def test_the_limit_is_the_percentile_to_a_bucket(seconds: list[float], asked: float) -> None:
    known = seconds[: len(seconds) // 20 * 20]
    percentile = sorted(known)[math.ceil(len(known) * 0.95) - 1]
    durations = durations_of(*known)
    if asked <= percentile:
        assert not durations.is_slow(asked)
    if asked > percentile * BUCKET * (1 + 1e-9):
        assert durations.is_slow(asked)


@pytest.mark.gate
@given(st.integers(0, 2**32))
def test_few_are_slow_whatever_their_distribution(seed: int) -> None:
    random = Random(seed)
    spread = random.uniform(0.1, 2.0)
    drawn = [random.lognormvariate(-4.0, spread) for _ in range(2000)]
    durations, slow = Durations(), 0
    for each in drawn:
        slow += durations.is_slow(each)
        durations.add(each)
    assert slow <= 0.08 * len(drawn)
