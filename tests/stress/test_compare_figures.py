"""Medians, ratios, tables and the verdict of a comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stress.compare.arrivals import FixedRate
from stress.compare.contestants import CONTESTANTS
from stress.compare.figures import Figures, Key, Spread, spread, summarise
from stress.compare.mode_table import render_modes
from stress.compare.order import order_round, with_bare
from stress.compare.plot_data import collect_plots
from stress.compare.serving import Exit
from stress.compare.sinks import Delivered
from stress.compare.tables import (
    render_costs,
    render_efficiency,
    render_failures,
    render_latency,
    render_remarks,
    render_throughput,
)
from stress.compare.verdict import (
    Failure,
    find_doubts,
    find_failures,
    find_losses,
    find_regressions,
    find_unrecorded,
    read_recorded,
    write_recorded,
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


def test_the_spread_is_the_median_between_the_least_and_the_most() -> None:
    assert spread([5.0, 1.0, 2.0]) == Spread(2.0, 1.0, 5.0)
    assert spread([4.0, 1.0]) == Spread(2.5, 1.0, 4.0)
    assert Spread(0.861, 0.8, 0.9).show(".2f") == "0.86 (0.80-0.90)"
    assert spread([0.5]).show(".2f") == "0.50"


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


def test_another_loop_is_compared_with_the_bare_application_on_that_loop() -> None:
    found = summarise(
        [measurement("bare", 0, 1000), measurement("bare-trio", 0, 200), measurement("swagent-grpc-trio", 0, 150)]
    )
    assert found["swagent-grpc-trio", "trivial"].ratio.median == 0.75


def test_tables_show_the_ratio_the_latency_and_what_was_lost() -> None:
    lossy = replace(measurement("otel-grpc", 0, 250), delivered=Delivered(999, 0))
    found = summarise([*rounds("swagent-grpc", 900.0, 800.0), lossy])
    throughput = render_throughput(found).splitlines()
    assert throughput[0] == "### Requests per second at saturation, of the bare application's"
    assert "| bare | 1,000/s |" in throughput
    assert "| swagent-grpc | 0.85 (0.80-0.90) |" in throughput
    assert "| otel-grpc | 0.25, 99.9 % delivered |" in throughput
    assert "| swagent-grpc | 0.50 | 2.0, 1.00 x | 7 | 100 % | 2.0, 1.00 x |" in render_latency(found)
    costs = render_costs(found)
    assert "| swagent-grpc | 0.080 | 0.070 | 66 | +6.5 | 2,000 | 2,000 | - | - | 0.20 |" in costs
    assert "| otel-grpc | 0.080 | 0.070 | 66 | +6.5 | 999 = 99.9 % | 1,000 | - | - | 0.20 |" in costs
    assert "| swagent-grpc | 1.00 |" in render_efficiency(found)
    assert render_failures([]) == ""
    assert "| otel-grpc | /call | no |" in render_failures([Failure("otel-grpc", "call", "no\nway")])


def test_a_loss_is_never_rounded_to_all() -> None:
    lossy = replace(measurement("otel-grpc", 0, 250), expected=Delivered(10**6, 0), delivered=Delivered(10**6 - 1, 0))
    assert "99.9 % delivered" in render_throughput(summarise([measurement("bare", 0, 1000), lossy]))


def test_the_official_agents_modes_are_shown_against_each_other_and_what_is_published() -> None:
    sync, other = measurement("official-sync-grpc", 0, 400), measurement("official-async-grpc", 0, 500)
    table = render_modes(summarise([measurement("bare", 0, 1000), sync, other]))
    assert (
        "| grpc, /trivial | 400 | 400 | 1.5 | 100 % | 500 | 500 | 1.5 | 100 % | +25.0 % | +25.0 % | +32.8 % |" in table
    )
    assert render_modes(figures()) == ""


def test_processor_time_is_against_the_bare_application_of_the_same_round() -> None:
    mine = replace(measurement("swagent-grpc", 0, 900), cpu={"saturation": 0.14})
    bare = replace(measurement("bare", 0, 1000), cpu={"saturation": 0.07})
    found = summarise([replace(bare, fixed={}), replace(mine, fixed={})])
    assert found["swagent-grpc", "trivial"].efficiency.median == 0.5


def test_records_beyond_the_expected_make_up_for_no_loss() -> None:
    mixed = replace(measurement("official-sync-kafka", 0, 900), expected=Delivered(90, 10), delivered=Delivered(80, 20))
    found = summarise([measurement("bare", 0, 1000), mixed])
    assert found["official-sync-kafka", "trivial"].delivered_share == 0.9


def test_a_killed_application_is_named() -> None:
    killed = replace(measurement("official-sync-http", 0, 300), ending=Exit(20.0, killed=True))
    assert "20.00, killed 1 times |" in render_costs(summarise([measurement("bare", 0, 1000), killed]))


@pytest.mark.parametrize("delivered", [Delivered(999, 0), Delivered(1001, 0), Delivered(1000, 1)])
def test_whatever_ours_loses_or_delivers_twice_is_reported(delivered: Delivered) -> None:
    (said,) = find_losses([replace(measurement("swagent-http", 2, 900), delivered=delivered)])
    assert said.startswith("swagent-http on trivial, round 3: ")
    assert said.endswith("void")


def test_losses_of_others_do_not_fail_the_run() -> None:
    assert find_losses(rounds()) == []
    assert find_losses([replace(measurement("official-sync-http", 0, 900), delivered=Delivered(0, 0))]) == []


def test_failures_of_others_do_not_fail_the_run_but_those_of_the_bare_application_do() -> None:
    found = [Failure(name, "call", "no") for name in ("bare", "swagent-kafka", "official-async-kafka", "otel-grpc")]
    assert find_failures(found) == ["bare on call: no", "swagent-kafka on call: no"]


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


def test_a_guarded_figure_without_a_record_is_reported() -> None:
    record = {"swagent-grpc": {"per second": 0.9}}
    assert find_unrecorded(figures(), {"trivial": record}) == []
    assert find_unrecorded(figures(), {"await": record}) == [
        "swagent-grpc on trivial has no recorded ratio: run with --record"
    ]


def test_a_record_keeps_what_was_not_measured_this_time_and_only_ours(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    assert read_recorded(path) == {}
    write_recorded(figures("swagent-grpc", 900.0), path)
    write_recorded(summarise([*rounds("swagent-http", 800.0), measurement("otel-grpc", 0, 200)]), path)
    assert read_recorded(path) == {
        "trivial": {
            "swagent-grpc": {"per second": 0.9, "per processor second": 1.0},
            "swagent-http": {"per second": 0.8, "per processor second": 1.0},
        }
    }


def test_a_run_that_the_machine_disturbed_says_so() -> None:
    calm = measurement("bare", 0, 1000)
    busy = {"60": replace(calm.fixed["60"], generator_busy=0.9)}
    assert find_doubts([calm]) == []
    assert "host took up to 5.0%" in find_doubts([calm, replace(calm, steal=0.05)])[0]
    assert "up to 90% of its core" in find_doubts([replace(calm, fixed=busy)])[0]


def test_plots_have_what_is_measured_and_only_that() -> None:
    plots = collect_plots(figures("swagent-grpc", 900.0, 800.0))
    assert set(plots) == {"throughput", "delivered", "memory", "cpu", "p99-at-60"}
    assert plots["throughput"]["panels"] == {"trivial": {"swagent-grpc": [pytest.approx(0.85), 0.8, 0.9]}}
    assert list(plots["p99-at-60"]["panels"]["trivial"]) == ["bare", "swagent-grpc"]
    assert plots["throughput"]["pale"] == {"trivial": []}


def test_plots_show_pale_what_has_losses() -> None:
    lossy = replace(measurement("otel-grpc", 0, 250), delivered=Delivered(999, 0))
    plots = collect_plots(summarise([*rounds("swagent-grpc", 900.0), lossy]))
    assert plots["throughput"]["pale"] == {"trivial": ["otel-grpc"]}
    assert plots["cpu"]["names"] == ["bare", "swagent-grpc", "otel-grpc"]


def test_every_contestant_comes_with_its_bare_application() -> None:
    assert [each.name for each in with_bare(["swagent-grpc-trio"])] == ["bare-trio", "swagent-grpc-trio"]
    assert with_bare(CONTESTANTS) == list(CONTESTANTS.values())


def test_a_round_begins_with_the_bare_application_and_has_it_in_between_and_rounds_differ_in_order() -> None:
    everyone = list(CONTESTANTS.values())
    first, second = order_round(everyone, 0), order_round(everyone, 1)
    assert first[0].name == "bare"
    assert [each.name for each in first].count("bare") == 2
    assert {each.name for each in first} == set(CONTESTANTS)
    assert first == order_round(everyone, 0)
    assert first != second


def test_the_bare_application_against_itself_is_the_noise() -> None:
    found = summarise([measurement("bare", 0, 900), measurement("bare", 0, 1100), measurement("swagent-grpc", 0, 900)])
    assert "| bare | 1,000 (900-1,100)/s, noise 0.90-1.10 |" in render_throughput(found)


def test_a_gain_of_a_mode_that_delivers_nothing_is_void_and_explained() -> None:
    sync, other = measurement("official-sync-http", 0, 400), measurement("official-async-http", 0, 500)
    found = summarise([measurement("bare", 0, 1000), sync, replace(other, delivered=Delivered(0, 0))])
    assert "| 0.0 % | void | void | +9.8 % |" in render_modes(found)
    assert render_remarks(found).startswith("- official-async-http: delivers nothing")
    assert render_remarks(figures()) == ""
