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


def test_none_is_slow_before_enough_are_known() -> None:
    assert not durations_of(*[0.01] * 19).is_slow(60.0)
    assert durations_of(*[0.01] * 20).is_slow(60.0)


def test_as_long_as_usual_is_not_slow() -> None:
    assert not durations_of(*[0.01] * 100).is_slow(0.01)


def test_one_in_fifty_is_slow() -> None:
    durations = durations_of(*([0.01] * 49 + [1.0]) * 20)
    assert durations.is_slow(1.0)
    assert not durations.is_slow(0.01)


def test_one_in_ten_is_usual() -> None:
    assert not durations_of(*([0.01] * 9 + [1.0]) * 20).is_slow(1.0)


def test_what_is_usual_changes() -> None:
    durations = durations_of(*[0.01] * 10_000, *[1.0] * 2000)
    assert not durations.is_slow(1.0)
    assert durations.is_slow(3.0)


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
