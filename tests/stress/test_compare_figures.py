"""Medians, ratios, tables and the verdict of a comparison."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stress.compare.arrivals import FixedRate
from stress.compare.figures import Figures, Key, Spread, summarise
from stress.compare.serving import Exit
from stress.compare.sinks import Delivered
from stress.compare.verdict import (
    find_losses,
    find_regressions,
)
from stress.compare.visit import Measurement
from stress.compare.wrk import Saturation


def measurement(contestant: str, number: int, qps: float, *, handler: str = "trivial", p99: float = 2.0) -> Measurement:
    """One visit that lost nothing."""
    delivered = Delivered(0, 0) if contestant.startswith("bare") else Delivered(1000, 0)
    return Measurement(
        contestant=contestant,
        handler=handler,
        number=number,
        saturation=Saturation(qps, 1024 * qps, 1.5, 1.0, p99, 9.0, 1000),
        fixed={"60": FixedRate(600.0, 1200, 1.0, 0.5, p99, 7.0, 0.1, 0.3)},
        cpu={"60": 0.08, "saturation": 0.07},
        rss=60.0 if contestant.startswith("bare") else 66.5,
        expected=delivered,
        delivered=delivered,
        ending=Exit(0.2, killed=False),
        steal=0.0,
    )


def rounds(contestant: str = "swagent-grpc", *qps: float) -> list[Measurement]:
    """A contestant against a bare application of 1,000 requests a second."""
    pairs = [(measurement("bare", each, 1000.0), measurement(contestant, each, of)) for each, of in enumerate(qps)]
    return [each for pair in pairs for each in pair]


def figures(contestant: str = "swagent-grpc", *qps: float) -> dict[Key, Figures]:
    return summarise(rounds(contestant, *(qps or (900.0,))))


def test_each_ratio_is_against_the_bare_application_of_its_own_round() -> None:
    """The machine was twice as slow in the second round: the ratio is the same, where one of all medians is not."""
    found = summarise(
        [
            measurement("bare", 0, 1000), measurement("bare", 0, 1200), measurement("bare", 0, 5),
            measurement("swagent-grpc", 0, 900, p99=3.0),
            measurement("bare", 1, 500), measurement("swagent-grpc", 1, 450, p99=4.0),
        ]
    )  # fmt: skip
    mine = found["swagent-grpc", "trivial"]
    assert mine.ratio == Spread(0.9, 0.9, 0.9)
    assert mine.qps == Spread(675, 450, 900)
    assert mine.at["60"].p99_ratio == Spread(1.75, 1.5, 2.0)
    assert mine.rss_added.median == 6.5
    assert mine.delivered == Delivered(2000, 0)


@pytest.mark.parametrize("delivered", [Delivered(999, 0), Delivered(1001, 0), Delivered(1000, 1)])
def test_whatever_ours_loses_or_delivers_twice_is_reported_and_nothing_of_others(delivered: Delivered) -> None:
    (said,) = find_losses([replace(measurement("swagent-http", 2, 900), delivered=delivered)])
    assert said.startswith("swagent-http on trivial, round 3: ")
    assert said.endswith("void")
    assert find_losses([*rounds(), replace(measurement("official-sync-http", 0, 900), delivered=delivered)]) == []


@pytest.mark.parametrize(("qps", "is_one"), [(764.0, True), (766.0, False), (1200.0, False)])
def test_more_than_15_percent_below_the_record_is_a_regression(qps: float, is_one: bool) -> None:
    found = find_regressions(figures("swagent-grpc", qps), {"trivial": {"swagent-grpc": {"per second": 0.9}}})
    assert bool(found) is is_one


@pytest.mark.parametrize(("qps", "is_one"), [(594.0, True), (596.0, False)])
def test_a_rate_is_judged_by_the_room_that_a_full_core_has_for_it(qps: float, is_one: bool) -> None:
    """Recorded where the application waited for the most part; here each request takes the core for 1.43 ms."""
    mine = replace(measurement("swagent-grpc", 0, qps), cpu={"saturation": 1 / 0.7})
    found = summarise([replace(each, fixed={}) for each in (measurement("bare", 0, 1000), mine)])
    assert bool(find_regressions(found, {"trivial": {"swagent-grpc": {"per second": 0.95}}})) is is_one


def test_processor_time_is_judged_where_the_rate_is_as_good_as_ever() -> None:
    recorded = {"trivial": {"swagent-grpc": {"per second": 0.9, "per processor second": 1.2}}}
    (said,) = find_regressions(figures("swagent-grpc", 900.0), recorded).values()
    assert said.startswith("swagent-grpc on trivial: 1.000 of the bare application's requests for each second of proc")
