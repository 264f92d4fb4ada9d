"""The faults of a soak come from its seed."""

from __future__ import annotations

from collections import Counter

import pytest

from stress.soak.faults import FAULTS
from stress.soak.plan import WARM_UP, Kind, draw_plan


def test_the_same_seed_gives_the_same_faults_and_another_gives_others() -> None:
    assert draw_plan(7, 50, 9.0) == draw_plan(7, 50, 9.0)
    assert draw_plan(7, 50, 9.0) != draw_plan(8, 50, 9.0)


def test_a_longer_run_begins_as_the_shorter_one() -> None:
    assert draw_plan(7, 50, 9.0)[:20] == draw_plan(7, 20, 9.0)


@pytest.mark.parametrize("seed", range(20))
def test_twenty_faults_have_every_kind_and_end_before_the_next_begins(seed: int) -> None:
    plan = draw_plan(seed, 20, 9.0)
    assert {step.kind for step in plan} >= set(Kind) - {Kind.NOTHING}
    assert [step.at for step in plan] == [WARM_UP + 9.0 * number for number in range(20)]
    assert all(0 < step.seconds <= 0.8 * 9.0 for step in plan)
    assert all(step.seconds <= 3.0 for step in plan if step.kind is Kind.APP_FROZEN)


def test_a_tenth_of_the_time_there_is_no_fault_and_the_others_come_equally_often() -> None:
    counts = Counter(step.kind for step in draw_plan(1, 12_000, 30.0))
    assert 0.08 < counts.pop(Kind.NOTHING) / 12_000 < 0.12
    assert max(counts.values()) - min(counts.values()) <= 1


def test_every_kind_can_be_inflicted() -> None:
    assert set(FAULTS) == set(Kind)
