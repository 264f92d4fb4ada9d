"""The arithmetic of the pipeline's figures."""

from __future__ import annotations

from typing import Any

import pytest

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


def test_a_ratio_that_fell_or_has_no_other_is_reported() -> None:
    assert fallen({"a": 0.86, "b": 2.0}, {"a": 1.0, "b": 1.0}) == []
    assert "16% below" in fallen({"a": 0.84}, {"a": 1.0})[0]
    assert "never recorded" in fallen({"new": 1.0}, {})[0]
    assert "not measured" in fallen({}, {"old": 1.0})[0]


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
