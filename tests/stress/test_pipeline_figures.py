"""The arithmetic of the pipeline's figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stress.pipeline import ratios
from stress.pipeline.cells import Cell, choose_cells
from stress.pipeline.figures import calibrate, fallen, median, percentile
from stress.pipeline.measuring import Figure
from stress.pipeline.outage import CALM, FILLING, FLAT_BYTES, Outage
from stress.pipeline.plot import by_field
from stress.pipeline.report import render

FEW, MANY = Cell("grpc", "asyncio", "finished", 1), Cell("grpc", "asyncio", "finished", 1000)


def figure(cell: Cell = FEW, *, delivered: int = 1000, **answer: Any) -> Figure:
    whole = {"seconds": 2.0, "cpu": 0.5, "calibration": 1e-5, "rss_before": 1 << 20, "rss_peak": 3 << 20,
             "offered": 1000, "confirmed": 1000, "refused": {}, "dropped": {}, "balanced": True,
             "p50": 0.01, "p99": 0.02, "max": 0.03, **answer}  # fmt: skip
    return Figure(cell, whole, delivered, 0.1, 0.0)


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentiles_are_values_of_the_sample(share: float, expected: int) -> None:
    assert percentile(list(range(1, 101)), share) == expected


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_medians() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2


def test_the_calibration_is_cpu_time_of_one_turn() -> None:
    assert 1e-8 < calibrate() < 1e-3


def test_rates_and_costs() -> None:
    assert figure().per_second == 500
    assert figure().per_cpu_second == 2000
    assert figure().cost == pytest.approx(50)
    assert not figure().fault


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"delivered": 999}, "delivered 999"),
        ({"delivered": 1001}, "delivered 1001"),
        ({"confirmed": 999}, "confirmed 999"),
        ({"dropped": {"ambiguous": 1}}, "ambiguous"),
        ({"refused": {"full": 1}}, "full"),
        ({"balanced": False}, "balance"),
        ({"delivered": 0, "offered": 0, "confirmed": 0}, "nothing"),
    ],
)
def test_a_figure_without_its_delivered_count_is_void(changed: dict[str, Any], fault: str) -> None:
    void = figure(**changed)
    assert fault in void.fault
    text = render([figure(MANY), void]).splitlines()
    assert "500" in text[2]
    assert "void" in text[3]
    assert "500" not in text[3]


def test_each_combination_once_and_transports_together() -> None:
    cells = choose_cells(["grpc", "kafka-broker"], ["asyncio", "trio"], ["finished"], (1, 10))
    assert len(set(cells)) == len(cells) == 8
    assert [cell.transport for cell in cells] == ["grpc"] * 4 + ["kafka-broker"] * 4
    assert cells[-1].protocol == "kafka"


def test_ratios_are_larger_where_it_is_better() -> None:
    slow, fast = figure(cpu=1.0), figure(cpu=0.5)
    name = "grpc asyncio finished speed"
    assert ratios.ratios_of([fast], {})[name] == pytest.approx(2 * ratios.ratios_of([slow], {})[name])
    found = ratios.ratios_of([fast, figure(MANY, cpu=1.0)], {"grpc": {"best": 2e-5, "calibration": 1e-5}})
    assert found["grpc asyncio finished evenness"] == pytest.approx(0.5)
    assert found["record grpc speed"] == pytest.approx(0.5)


def test_of_several_rounds_the_cheapest_counts() -> None:
    rounds = [figure(cpu=cpu) for cpu in (0.7, 9.0, 0.5)]
    assert ratios.ratios_of(rounds, {}) == ratios.ratios_of([figure(cpu=0.5)], {})


def test_a_ratio_that_fell_is_reported() -> None:
    assert fallen({"a": 0.86, "b": 2.0}, {"a": 1.0, "b": 1.0}) == []
    assert "16% below" in fallen({"a": 0.84}, {"a": 1.0})[0]


def test_nothing_is_compared_with_nothing() -> None:
    assert "never recorded" in fallen({"new": 1.0}, {})[0]
    assert "not measured" in fallen({}, {"old": 1.0})[0]


def test_recorded_ratios_are_kept_for_each_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "recorded.json"
    monkeypatch.setattr(ratios, "RECORDED", file)
    assert ratios.read_recorded() == {}
    file.write_text(json.dumps({"2.7": {"a": 9.0}}))
    ratios.write_recorded({"a": 1.0})
    assert ratios.read_recorded() == {"a": 1.0}
    assert json.loads(file.read_text())["2.7"] == {"a": 9.0}


def test_a_release_without_a_record_is_held_against_the_lowest_of_its_minor_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "recorded.json"
    monkeypatch.setattr(ratios, "RECORDED", file)
    file.write_text(json.dumps({"3.11.2": {"a": 2.0, "b": 1.0}, "3.11.7": {"a": 1.0, "b": 3.0}, "3.1.1": {"a": 0.1}}))
    monkeypatch.setattr(ratios, "_release", lambda: "3.11.9")
    assert ratios.read_recorded() == {"a": 1.0, "b": 1.0}
    monkeypatch.setattr(ratios, "_release", lambda: "3.11.7")
    assert ratios.read_recorded() == {"a": 1.0, "b": 3.0}


def outage(growth: int = 0, *, delivered: int = 10, **answer: Any) -> Outage:
    full = int(CALM + FILLING)
    samples = [(float(at), 50_000_000 + growth * (at - full) // 100, 10_000) for at in range(full + 140)]
    whole = {"balanced": True, "confirmed": 10, "dropped": {}, "refused": {"full": 5}, "samples": samples, **answer}
    return Outage("grpc", whole, delivered, 60.0)


def test_a_flat_outage_has_no_faults() -> None:
    assert outage().faults == []
    assert outage(delivered=13, dropped={"ambiguous": 4}).faults == []


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (outage(growth=5 * FLAT_BYTES), "grew"),
        (outage(delivered=9), "delivered 9"),
        (outage(delivered=15, dropped={"ambiguous": 4}), "delivered 15"),
        (outage(refused={}), "never was full"),
        (outage(balanced=False), "balance"),
    ],
)
def test_limits_of_an_outage(found: Outage, fault: str) -> None:
    assert any(fault in each for each in found.faults)


def test_void_figures_are_not_drawn() -> None:
    documents = [each.document() for each in (figure(), figure(), figure(MANY), figure(MANY, delivered=1))]
    assert by_field(documents) == {("grpc", "finished"): {"asyncio": {1: [2000.0, 2000.0], 1000: [2000.0]}}}
