"""At most n new traces in three seconds, on a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.record.trace.sampling import WINDOW, Sampler

from .recorded import Clock


@pytest.mark.parametrize("per_window", [0, -1])
def test_zero_or_less_takes_all(per_window: int) -> None:
    sampler = Sampler(per_window)
    assert all(sampler.take() for _ in range(100))


def test_a_window_takes_its_number_and_the_next_one_again() -> None:
    clock = Clock()
    sampler = Sampler(2, clock)
    assert [sampler.take() for _ in range(4)] == [True, True, False, False]
    clock.now += WINDOW - 0.001
    assert not sampler.take()
    clock.now += 0.001
    assert [sampler.take() for _ in range(3)] == [True, True, False]


def test_a_window_begins_with_the_first_trace_and_not_at_full_seconds() -> None:
    clock = Clock()
    sampler = Sampler(1, clock)
    clock.now += 100.5
    assert [sampler.take(), sampler.take()] == [True, False]
    clock.now += WINDOW - 0.5
    assert not sampler.take()


def test_a_forced_trace_is_taken_from_a_full_window_and_counts_towards_it() -> None:
    full, new = Sampler(1, Clock()), Sampler(2, Clock())
    assert [full.take(), full.take(forced=True), full.take()] == [True, True, False]
    assert [new.take(forced=True), new.take(), new.take()] == [True, True, False]


@given(st.integers(1, 5), st.lists(st.floats(0, 2), max_size=60))
def test_no_window_takes_more_than_its_number(per_window: int, pauses: list[float]) -> None:
    clock = Clock()
    sampler = Sampler(per_window, clock)
    taken: list[float] = []
    for pause in pauses:
        clock.now += pause
        if sampler.take():
            taken.append(clock.now)
    # windows lie end to end, so any three seconds touch two of them at most
    assert all(sum(start <= at < start + WINDOW for at in taken) <= 2 * per_window for start in taken)
