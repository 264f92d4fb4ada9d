"""The figures that can be compared between machines: ratios within one run, larger being better."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

from .cells import Cell
from .measuring import Figure

RECORDED = Path(__file__).parents[1] / "recorded_pipeline.json"


def ratios_of(figures: Iterable[Figure], micro: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """
    `... speed`: turns of the calibration's loop that one segment takes, turned over. `... evenness`: the cost of a
    segment with the fewest producers, over that with the most. Of several rounds, and of the calibrations in all of
    them, the cheapest counts: whatever disturbs one only adds to it.
    """
    measured = list(figures)
    turn = min(float(each.answer["calibration"]) for each in measured)
    least: dict[Cell, float] = {}
    for figure in measured:
        cost = 1 / figure.per_cpu_second / turn
        least[figure.cell] = min(cost, least.get(figure.cell, cost))
    found = {f"record {name} speed": speed_of(each) for name, each in micro.items()}
    for transport, loop, form in dict.fromkeys((cell.transport, cell.loop, cell.form) for cell in least):
        same = {cell.producers: cost for cell, cost in least.items() if (cell.transport, cell.loop, cell.form) ==
                (transport, loop, form)}  # fmt: skip
        few, many = min(same), max(same)
        found[f"{transport} {loop} {form} speed"] = 1 / same[few]
        if few < many:
            found[f"{transport} {loop} {form} evenness"] = same[few] / same[many]
    return found


def speed_of(micro: Mapping[str, float]) -> float:
    """How many segments are recorded in the time of one turn of the calibration's loop."""
    return micro["calibration"] / micro["best"]


def read_recorded() -> dict[str, float]:
    """The recorded ratios of this very release of Python; of another one the lowest that its minor version has.

    Two builds of one minor version differ by a fifth: their compilers favour the calibration's loop differently.
    """
    recorded: dict[str, dict[str, float]] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    return recorded.get(_release()) or lowest(each for release, each in recorded.items() if _is_sibling(release))


def lowest(recorded: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The lowest of each ratio."""
    found: dict[str, float] = {}
    for ratios in recorded:
        for name, ratio in ratios.items():
            found[name] = min(ratio, found.get(name, ratio))
    return found


def write_recorded(ratios: Mapping[str, float]) -> None:
    """Let these be the recorded ones, for this release of Python."""
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    recorded[_release()] = {name: round(ratio, 5) for name, ratio in ratios.items()}
    RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


def _release() -> str:
    return platform.python_version()


def _is_sibling(release: str) -> bool:
    return release.split(".")[:2] == _release().split(".")[:2]
