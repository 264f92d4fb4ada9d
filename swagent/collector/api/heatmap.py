"""All traces that match, counted in cells of time and duration."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..store.store import Store
from .matching import Search

Answer = dict[str, Any]
_POINTS = "{matching} SELECT start, duration, failed FROM matching"
_COLUMNS = 90
_ROWS = 30
_DECADE = (24, 12, 6, 3)  # rows from 1 to 10
# milliseconds that a column may be wide: round in the unit that is theirs
_STEPS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000),
    *(60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000),
    *(3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000),
)


def heatmap(store: Store, filters: Mapping[str, Any]) -> Answer:
    """The traces that match in cells; a cell is its column, its row, how many traces, and how many of them failed.
    Cells lie at round times and durations, so that they stay where they are while traces come.

    :param filters: of `matching.FILTERS` those that apply
    :raises ValueError: when the query in them cannot be read
    """
    version, points = store.version, list[Sequence[int]]()
    for piece in Search(store, filters).ranges():
        points += store.read(_POINTS.format(matching=piece.matching), piece.values)
    counted = count_cells(points, filters.get("from"))
    return {"version": version, "total": len(points), **counted}


def count_cells(points: Sequence[Sequence[int]], since: int | None = None) -> Answer:
    """Count points in cells.

    :param points: start, duration, and whether it failed
    :param since: where the first column begins at the latest
    """
    if not points:
        return {"begin": 0, "step": 1, "columns": 0, "edges": [], "cells": []}
    starts, times = [point[0] for point in points], [point[1] for point in points]
    begin, step, columns = _times(min(starts) if since is None else since, max(starts))
    edges = _edges(min(times), max(times))
    all_, failed = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for start, took, is_failed in points:
        cell = max((start - begin) // step, 0), max(bisect_right(edges, took) - 1, 0)
        all_[cell] += 1
        if is_failed:
            failed[cell] += 1
    cells = [[*cell, count, failed[cell]] for cell, count in sorted(all_.items())]
    return {"begin": begin, "step": step, "columns": columns, "edges": edges, "cells": cells}


def _times(first: int, last: int) -> tuple[int, int, int]:
    """Where the columns begin, how wide they are, and their number."""
    first = min(first, last)
    step = next((each for each in _STEPS if last // each - first // each < _COLUMNS), _STEPS[-1])
    if last // step - first // step >= _COLUMNS:  # some clock is wrong by years
        step *= -(-(last // step - first // step + 1) // _COLUMNS)
    begin = first // step * step
    return begin, step, (last - begin) // step + 1


def _edges(least: int, most: int) -> list[int]:
    """Whole milliseconds between the rows, so many to a decade that there are not too many rows. A trace of less than
    a millisecond is in the first row."""
    tried = [_between(least, most, each) for each in _DECADE]
    edges = next((each for each in tried if len(each) <= _ROWS), tried[-1])
    if edges[0] > max(least, 1):
        edges.insert(0, max(least, 1))
    return edges if edges[-1] > max(most, edges[0]) else [*edges, max(most, edges[0]) + 1]


def _between(least: int, most: int, decade: int) -> list[int]:
    low = math.floor(math.log10(max(least, 1)) * decade + 1e-9)
    high = math.floor(math.log10(max(most, 1)) * decade + 1e-9) + 1
    return sorted({round(10 ** (each / decade)) for each in range(low, high + 1)})
