"""Draws the figures: `python -m stress.pipeline.plot FOLDER`, in an environment that has matplotlib.

Segments per CPU second by number of producers, a field for each transport and form, a line for each loop.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

REQUIREMENTS = ("matplotlib>=3.8,<4",)
_Lines = dict[str, dict[int, list[float]]]


def by_field(figures: list[dict[str, Any]]) -> dict[tuple[str, str], _Lines]:
    """Rates by transport and form, by loop, by number of producers. Figures that are void are left out."""
    fields: defaultdict[tuple[str, str], _Lines] = defaultdict(dict)
    for figure in figures:
        if figure["fault"]:
            continue
        cell = figure["cell"]
        line = fields[cell["transport"], cell["form"]].setdefault(cell["loop"], {})
        line.setdefault(cell["producers"], []).append(figure["per_cpu_second"])
    return dict(fields)


def draw(folder: Path) -> None:
    """Read pipeline.json in a folder, and write pipeline.svg beside it."""
    import matplotlib as mpl  # type: ignore[import-not-found, unused-ignore]

    mpl.use("svg")
    from matplotlib import pyplot as plt  # type: ignore[import-not-found, unused-ignore]

    fields = by_field(json.loads((folder / "pipeline.json").read_text())["figures"])
    transports, forms = (list(dict.fromkeys(each)) for each in zip(*fields, strict=True))
    size = 4 * len(transports), 3 * len(forms)
    sheet, axes = plt.subplots(len(forms), len(transports), squeeze=False, sharey="row", figsize=size)
    for (transport, form), lines in fields.items():
        ax = axes[forms.index(form)][transports.index(transport)]
        for loop, points in lines.items():
            counts = sorted(points)
            ax.plot(counts, [sorted(points[each])[len(points[each]) // 2] / 1000 for each in counts], "o-", label=loop)
        ax.set(title=f"{transport}, {form}", xscale="log", xlabel="producers")
        ax.grid(alpha=0.3)
    for row in axes:
        row[0].set_ylabel("thousand segments / CPU s")
        row[0].set_ylim(bottom=0)
    axes[0][0].legend()
    sheet.tight_layout()
    sheet.savefig(folder / "pipeline.svg")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
