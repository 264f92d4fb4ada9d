"""The official agent's two modes, as its documentation compares them."""

from __future__ import annotations

from collections.abc import Mapping

from ..markdown import make_chapter, show_path, show_share
from .contestants import TRANSPORTS
from .figures import Figures, Key, Spread, handlers_of

# The gain in requests per second that the official agent's documentation gives for its async mode.
PUBLISHED = {"grpc": "+32.8 %", "http": "+9.8 %", "kafka": "+89.6 %"}


def render_modes(figures: Mapping[Key, Figures]) -> str:
    """The official agent's sync mode against its async mode, and the gain that its documentation gives."""
    rows = []
    for handler in handlers_of(figures):
        for transport in TRANSPORTS:
            pair = [figures.get((f"official-{mode}-{transport}", handler)) for mode in ("sync", "async")]
            sync, other = pair
            if sync is not None and other is not None:
                gains = [other.qps.median / sync.qps.median - 1, other.throughput.median / sync.throughput.median - 1]
                rows.append(
                    [
                        f"{transport}, {show_path(handler)}",
                        *(cell for each in (sync, other) for cell in _mode_cells(each)),
                        *(_show_gain(gain, sync, other) for gain in gains),
                        PUBLISHED[transport],
                    ]
                )
    heads = [f"{mode} {what}" for mode in ("sync", "async") for what in ("QPS", "KiB/s", "average ms", "delivered")]
    return make_chapter("The official agent, sync against async", ["", *heads, "QPS", "KiB/s", "published QPS"], rows)


def _show_gain(gain: float, *modes: Figures) -> str:
    return f"{100 * gain:+.1f} %" if all(each.delivered_share for each in modes) else "void"


def _mode_cells(each: Figures) -> list[str]:
    kibibytes = Spread(*(value / 1024 for value in (each.throughput.median, each.throughput.low, each.throughput.high)))
    return [each.qps.show(",.0f"), kibibytes.show(",.0f"), each.mean.show(".1f"), show_share(each.delivered_share)]
