from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.pipeline.failover import Backoff, Failover


def always(number: float) -> Callable[[], float]:
    return lambda: number


def three() -> Failover:
    return Failover(3, always(1.0), Backoff(base=1.0, factor=1.6, cap=30.0))


def test_each_comes_after_the_one_that_failed_and_the_first_after_the_last() -> None:
    failover = three()
    for index in range(3):
        assert failover.choose(0.0) == (index, 0.0)
        failover.failed(index, now=0.0)
    failover.confirmed(2)
    assert failover.choose(1000.0) == (2, 0.0), "it sticks to the one that works"
    failover.failed(2, now=1000.0)
    assert failover.choose(1000.0) == (0, 0.0)


def test_when_all_rest_the_one_that_wakes_first_is_next() -> None:
    failover = three()
    failover.failed(0, now=0.0, pause=9.0)
    failover.failed(1, now=0.0, pause=5.0)
    failover.failed(2, now=0.0, pause=7.0)
    assert failover.choose(1.0) == (1, 4.0)


def test_the_envelope_grows_by_its_factor_up_to_the_cap() -> None:
    failover = Failover(1, always(1.0))
    rests = []
    for _ in range(10_000):
        failover.failed(0, now=0.0)
        rests.append(failover.choose(0.0)[1])
    assert rests[:3] == [1.0, 1.6, pytest.approx(2.56)]
    assert rests == sorted(rests)
    assert rests[9:] == [30.0] * 9991, "ten thousand failures overflow nothing"
    failover.confirmed(0)
    failover.failed(0, now=0.0)
    assert failover.choose(0.0) == (0, 1.0), "a success forgets the failures"


@given(failures=st.integers(1, 10_000), random=st.floats(0.0, 1.0))
def test_jitter_is_full_and_stays_inside_the_envelope(failures: int, random: float) -> None:
    backoff = Backoff()
    most = backoff.delay(failures, always(1.0))
    assert backoff.delay(failures, always(0.0)) == 0.0
    assert backoff.delay(failures, always(random)) == pytest.approx(random * most)
    assert 0.0 < most <= backoff.cap


def test_a_pause_that_the_collector_asks_for_outweighs_a_shorter_backoff() -> None:
    failover = Failover(1, always(1.0))
    failover.failed(0, now=10.0, pause=60.0)
    assert failover.choose(10.0) == (0, 60.0)
    assert failover.choose(70.0) == (0, 0.0)


def test_waking_cuts_all_rests_short_and_begins_with_the_next_in_line() -> None:
    failover = three()
    for index in range(3):
        failover.failed(index, now=0.0)
    failover.wake()
    assert failover.choose(0.0) == (0, 0.0)
