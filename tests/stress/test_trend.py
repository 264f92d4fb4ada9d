"""Slopes that outliers do not bend."""

from __future__ import annotations

from random import Random

import pytest

from stress.soak.trend import quarter_growth, theil_sen


def test_a_straight_line_has_its_slope() -> None:
    assert theil_sen([0, 1, 2, 5], [10, 12, 14, 20]) == 2


def test_a_quarter_of_outliers_does_not_bend_it() -> None:
    random = Random(3)
    times = list(range(200))
    values = [0.5 * at + (1000 if random.random() < 0.25 else random.gauss(0, 1)) for at in times]
    assert theil_sen(times, values) == pytest.approx(0.5, abs=0.2)


def test_a_long_series_is_thinned_and_keeps_its_slope() -> None:
    times = [2.0 * number for number in range(20_000)]
    assert theil_sen(times, [3 * at for at in times]) == pytest.approx(3)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_too_few_points_have_none(values: list[float]) -> None:
    assert theil_sen(list(range(len(values))), values) == 0
    assert quarter_growth(values) == 0


def test_the_last_quarter_against_the_first() -> None:
    assert quarter_growth([1, 1, 1, 50, 50, 50, 50, 50, 50, 4, 4, 4]) == 3
    assert quarter_growth([1, 1, 99, 5, 5, 5, 5, 5, 5, 1, 1, 99]) == 0
