"""The arithmetic of the pipeline's figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stress.pipeline import ratios
from stress.pipeline.cells import Cell
from stress.pipeline.figures import fallen
from stress.pipeline.measuring import Figure
from stress.pipeline.outage import CALM, FILLING, FLAT_BYTES, Outage
from stress.pipeline.report import render

FEW, MANY = Cell("grpc", "asyncio", "finished", 1), Cell("grpc", "asyncio", "finished", 1000)


def figure(cell: Cell = FEW, *, delivered: int = 1000, **answer: Any) -> Figure:
    whole = {"seconds": 2.0, "cpu": 0.5, "calibration": 1e-5, "rss_before": 1 << 20, "rss_peak": 3 << 20,
             "offered": 1000, "confirmed": 1000, "refused": {}, "dropped": {}, "balanced": True,
             "p50": 0.01, "p99": 0.02, "max": 0.03, **answer}  # fmt: skip
    return Figure(cell, whole, delivered, 0.1, 0.0)


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


def test_ratios_are_larger_where_it_is_better() -> None:
    slow, fast = figure(cpu=1.0), figure(cpu=0.5)
    name = "grpc asyncio finished speed"
    assert ratios.ratios_of([fast], {})[name] == pytest.approx(2 * ratios.ratios_of([slow], {})[name])
    # of several rounds the cheapest counts
    assert ratios.ratios_of([slow, figure(cpu=9.0), fast], {}) == ratios.ratios_of([fast], {}), (
        "the cheapest round counts"
    )
    found = ratios.ratios_of([fast, figure(MANY, cpu=1.0)], {"grpc": {"best": 2e-5, "calibration": 1e-5}})
    assert found["grpc asyncio finished evenness"] == pytest.approx(0.5)
    assert found["record grpc speed"] == pytest.approx(0.5)


def test_a_ratio_that_fell_or_has_no_other_is_reported() -> None:
    assert fallen({"a": 0.86, "b": 2.0}, {"a": 1.0, "b": 1.0}) == []
    assert "16% below" in fallen({"a": 0.84}, {"a": 1.0})[0]
    assert "never recorded" in fallen({"new": 1.0}, {})[0]
    assert "not measured" in fallen({}, {"old": 1.0})[0]


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


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (outage(), ""),
        (outage(delivered=13, dropped={"ambiguous": 4}), ""),
        (outage(growth=5 * FLAT_BYTES), "grew"),
        (outage(delivered=9), "delivered 9"),
        (outage(delivered=15, dropped={"ambiguous": 4}), "delivered 15"),
        (outage(refused={}), "never was full"),
        (outage(balanced=False), "balance"),
    ],
)
def test_limits_of_an_outage(found: Outage, fault: str) -> None:
    assert fault in "".join(found.faults)
    assert bool(found.faults) is bool(fault)
