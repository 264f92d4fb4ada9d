"""The figures as SVG plots: `python plots.py FOLDER`, in the environment that has matplotlib.

Reads `plots.json` of the folder: for each plot its title, its unit, for each handler and contestant the median with its
least and its most, and which contestants lost records there. A program of its own, since the comparison itself does
without matplotlib.
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
_PALE = 0.35


def draw(plot: Mapping[str, Any], target: Path) -> None:
    """One plot: a panel for each handler, a bar for each contestant."""
    panels: Mapping[str, Mapping[str, list[float]]] = plot["panels"]
    names: list[str] = plot["names"]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.2 + 3.0 * len(panels), 1.2 + _ROW * len(names)), sharey=True, squeeze=False
    )
    for axis, (handler, bars) in zip(axes[0], panels.items(), strict=True):
        _draw_bars(axis, {names.index(name): each for name, each in bars.items()}, plot, set(plot["pale"][handler]))
        _draw_frame(axis, plot)
        axis.set_title(f"/{handler}", fontsize=10)
    axes[0][0].set_yticks(range(len(names)), names)
    axes[0][0].set_ylim(len(names) - 0.4, -0.6)  # the first on top, for all, since they share it
    title = f"{plot['title']} (pale: with losses)" if any(plot["pale"].values()) else plot["title"]
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    figure.tight_layout()
    for suffix in (".svg", *plot.get("also", ())):
        figure.savefig(target.with_suffix(suffix), metadata={"Date": None} if suffix == ".svg" else None)
    plt.close(figure)


def _draw_bars(axis: Any, bars: Mapping[int, list[float]], plot: Mapping[str, Any], pale: set[str]) -> None:
    for row, (median, low, high) in bars.items():
        name = plot["names"][row]
        axis.barh(
            row, median, color=_COLOURS[name.split("-")[0]], height=0.72, alpha=_PALE if name in pale else 1.0,
            xerr=[[median - low], [high - median]], error_kw={"lw": 0.8},
        )  # fmt: skip
        axis.annotate(
            plot["form"].format(median), (high, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7
        )


def _draw_frame(axis: Any, plot: Mapping[str, Any]) -> None:
    if plot["logarithmic"]:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
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
