"""The simulated fleet: collectors that were restarted get their share again, and agents come back spread over time."""

from __future__ import annotations

import pytest

from stress.fleet.scenario import SCENARIOS, Outcome, run

_AGE = 240.0


def outcome(scenario: str, age: float, *, collectors: int = 3, has_balancer: bool = False) -> Outcome:
    return run(SCENARIOS[scenario], 400, collectors, age, seed=1, rate=1000, has_balancer=has_balancer)


@pytest.mark.parametrize("has_balancer", [False, True], ids=["addresses", "balancer"])
def test_a_collector_that_was_restarted_gets_its_share_only_where_connections_age(has_balancer: bool) -> None:
    kept = outcome("rolling restart", 0.0, has_balancer=has_balancer)
    aged = outcome("rolling restart", _AGE, has_balancer=has_balancer)
    assert kept.apart > 1.2
    assert aged.apart < 0.4  # with so few agents chance alone makes a fifth
    assert kept.at_rest == 0
    assert 400 / _AGE < aged.at_rest < 2 * 400 / _AGE


@pytest.mark.slow
@pytest.mark.parametrize("collectors", [1, 3])
def test_after_an_outage_of_all_the_agents_come_back_spread_and_in_time(collectors: int) -> None:
    found = outcome("all dead", _AGE, collectors=collectors)
    assert found.worst is not None
    assert found.away == 400, "nothing was there at the end of the outage"
    assert found.worst.ratio < 3
    assert found.longest <= 31


def test_agents_leave_a_collector_that_refuses_them() -> None:
    kept, aged = outcome("one refuses", 0.0), outcome("one refuses", _AGE)
    assert kept.away > 400 / 5
    assert aged.away < 400 / 10
    assert aged.refusals < kept.refusals / 2


@pytest.mark.parametrize("scenario", ["one dead", "one machine gone", "one too slow"])
def test_agents_find_the_collectors_that_are_well(scenario: str) -> None:
    found = outcome(scenario, _AGE)
    assert found.away < 400 / 20
    assert found.apart < 0.4
