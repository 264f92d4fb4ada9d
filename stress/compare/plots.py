"""The figures as SVG plots: `python plots.py FOLDER`, in the environment that has matplotlib.

Reads `plots.json` of the folder: for each plot its title, its unit, and for each handler and contestant the median with
its least and its most. A program of its own, since the comparison itself does without matplotlib.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

mpl.rcParams["svg.hashsalt"] = "compare"  # the same figures give the same file
mpl.rcParams["svg.fonttype"] = "none"  # text stays text: smaller, and to be searched

_COLOURS = {"bare": "#8a8f98", "swagent": "#1f6feb", "official": "#d9822b", "otel": "#6f42c1"}
_ROW = 0.26


def draw(plot: Mapping[str, Any], target: Path) -> None:
    """One plot: a panel for each handler, a bar for each contestant."""
    panels: Mapping[str, Mapping[str, list[float]]] = plot["panels"]
    rows = max(len(each) for each in panels.values())
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.2 + 3.0 * len(panels), 1.1 + _ROW * rows), sharey=True, squeeze=False
    )
    for axis, (handler, bars) in zip(axes[0], panels.items(), strict=True):
        _draw_panel(axis, bars, plot)
        axis.set_title(f"/{handler}", fontsize=10)
    figure.suptitle(plot["title"], fontsize=11, x=0.01, ha="left")
    figure.tight_layout()
    for suffix in (".svg", *plot.get("also", ())):
        figure.savefig(target.with_suffix(suffix), metadata={"Date": None} if suffix == ".svg" else None)
    plt.close(figure)


def _draw_panel(axis: Any, bars: Mapping[str, list[float]], plot: Mapping[str, Any]) -> None:
    names = list(bars)
    medians = [bars[name][0] for name in names]
    spreads = [[bars[name][0] - bars[name][1] for name in names], [bars[name][2] - bars[name][0] for name in names]]
    colours = [_COLOURS[name.split("-")[0]] for name in names]
    drawn = axis.barh(names, medians, xerr=spreads, color=colours, height=0.72, error_kw={"lw": 0.8})
    axis.bar_label(drawn, [plot["form"].format(each) for each in medians], fontsize=7, padding=5)
    axis.invert_yaxis()
    if plot["logarithmic"]:
        axis.set_xscale("log")
    axis.margins(x=0.22)
    for line in plot["lines"]:
        axis.axvline(line, color="#444", lw=0.8, ls=":")
    axis.set_xlabel(plot["unit"], fontsize=8)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def main(folder: Path) -> None:
    """Draw all."""
    for name, plot in json.loads((folder / "plots.json").read_text()).items():
        draw(plot, folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
