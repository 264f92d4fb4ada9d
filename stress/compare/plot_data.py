"""The data that the plots show, for `plots.py`, which runs in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .contestants import CONTESTANTS, HANDLERS
from .figures import Figures, Key, Spread


def collect_plots(figures: Mapping[Key, Figures]) -> dict[str, Any]:
    """By the name of its file."""
    shares = next(iter(figures.values())).at
    plots = {
        "throughput": _plot("Requests per second at saturation, of the bare application's", "ratio", figures, _ratio,
                            lines=[1.0], without_bare=True),
        "delivered": _plot("Segments and logs delivered", "%", figures, _delivered, form="{:.1f}", without_bare=True),
        "memory": _plot("Resident memory over the bare application's", "MiB", figures, lambda each: each.rss_added,
                        form="{:.0f}", without_bare=True),
    }  # fmt: skip
    for share in shares:
        title = f"p99 from the moment a request was due, at {share} % of the bare application's saturation"
        plots[f"p99-at-{share}"] = _plot(title, "ms", figures, _p99_at(share), form="{:.1f}", logarithmic=True)
    last = [*shares, "saturation"][len(shares) - 1 if shares else 0]
    plots["cpu"] = _plot(
        f"Processor seconds per 1,000 requests ({last if last == 'saturation' else f'at {last} %'})",
        "s", figures, lambda each: each.cpu[last], form="{:.2f}",
    )  # fmt: skip
    return plots


def _plot(
    title: str,
    unit: str,
    figures: Mapping[Key, Figures],
    value: Callable[[Figures], Spread],
    *,
    form: str = "{:.2f}",
    logarithmic: bool = False,
    lines: list[float] | None = None,
    without_bare: bool = False,
) -> dict[str, Any]:
    panels: dict[str, dict[str, list[float]]] = {}
    for handler in HANDLERS:
        for name, contestant in CONTESTANTS.items():
            each = figures.get((name, handler))
            if each is not None and not (without_bare and contestant.agent == "bare"):
                found = value(each)
                panels.setdefault(handler, {})[name] = [found.median, found.low, found.high]
    return {
        "title": title,
        "unit": unit,
        "form": form,
        "logarithmic": logarithmic,
        "lines": lines or [],
        "panels": panels,
        "names": [name for name in CONTESTANTS if any(name in bars for bars in panels.values())],
        "pale": {handler: [name for name in bars if figures[name, handler].delivered_share != 1]
                 for handler, bars in panels.items()},
    }  # fmt: skip


def _p99_at(share: str) -> Callable[[Figures], Spread]:
    return lambda each: each.at[share].p99


def _ratio(each: Figures) -> Spread:
    return each.ratio


def _delivered(each: Figures) -> Spread:
    return Spread(*[100 * each.delivered_share] * 3)
