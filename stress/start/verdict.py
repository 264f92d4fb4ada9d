"""Whether a start takes more instructions than recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..cost import stages
from ..cost.figures import Count, Counts
from ..cost.verdict import judge, read_recorded, write_recorded

RECORDED = Path(__file__).parents[1] / "recorded_start.json"
BARE, AGENT = "bare", "swagent"
"""The peers by whose difference a start is judged."""
_ANEW = "python -m stress start --record"

Figures = Mapping[str, Mapping[str, Sequence[float]]]
"""By row with its unit, and by peer: a number of each round."""


def guard(figures: Figures, *, is_new: bool, path: Path = RECORDED) -> int:
    """Judge the counts by the record, or make them the record.

    :param figures: millions of instructions
    :param is_new: whether they become the record
    :returns: 1 when a start takes more than was recorded, or has no record; else 0
    """
    counts = _counts(figures)
    if is_new:
        write_recorded(counts, path)
        return 0
    return judge(counts, read_recorded(path), "a start", _ANEW)


def _counts(figures: Figures) -> Counts:
    return {
        row: {stages.BARE: _count(found[BARE]), stages.WHOLE: _count(found[AGENT])} for row, found in figures.items()
    }


def _count(millions: Sequence[float]) -> Count:
    return Count([round(each * 1e6) for each in millions], requests=1)
