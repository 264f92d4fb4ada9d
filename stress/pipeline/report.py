"""The report of the measurements, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..markdown import make_table
from .measuring import Figure
from .memory import MIB
from .outage import RATE, Outage

_HEAD = ("transport", "loop", "form", "producers", "segments/s", "segments/CPU s", "p50, ms", "p99, ms", "max, ms",
         "RSS before, MiB", "peak, MiB", "delivered", "collector's share of a core", "steal")  # fmt: skip
_MILLI, _MICRO = 1e3, 1e6


def render(figures: Sequence[Figure]) -> str:
    """The table of the pipeline. A figure without what it was to deliver is void."""
    return make_table(_HEAD, (_row(each) for each in figures))


def _row(figure: Figure) -> Sequence[str]:
    cell, answer = figure.cell, figure.answer
    conditions = (cell.transport, cell.loop, cell.form, f"{cell.producers:,}")
    if figure.fault:
        return (*conditions, f"void: {figure.fault}", *[""] * (len(_HEAD) - len(conditions) - 1))
    return (
        *conditions,
        f"{figure.per_second:,.0f}",
        f"{figure.per_cpu_second:,.0f}",
        *(f"{answer[name] * _MILLI:.1f}" for name in ("p50", "p99", "max")),
        *(f"{answer[name] / MIB:.1f}" for name in ("rss_before", "rss_peak")),
        f"{figure.delivered:,} of {answer['offered']:,}",
        f"{figure.sink_share:.0%}",
        f"{figure.steal:.1%}",
    )


def render_micro(micro: Mapping[str, Mapping[str, float]]) -> str:
    """The cost of recording alone, by transport."""
    head = ("transport", "one segment recorded, encoded and offered, µs of CPU: median", "best")
    rows = [(name, *(f"{each[key] * _MICRO:.1f}" for key in ("median", "best"))) for name, each in micro.items()]
    return make_table(head, rows)


def render_imports(imports: Mapping[str, float]) -> str:
    """The cost of importing."""
    return make_table(
        ("imported", "ms of CPU"), [(name, f"{seconds * _MILLI:.0f}") for name, seconds in imports.items()]
    )


def render_outage(outage: Outage) -> str:
    """The memory through an outage, and the ledger."""
    answer = outage.answer
    lines = [
        f"{outage.transport}: {RATE:,.0f} segments/s, and no answer for {outage.seconds:,.0f} s",
        f"- resident memory before {answer['rss_before'] / MIB:.1f} MiB, at most {answer['rss_peak'] / MIB:.1f} MiB; "
        f"once the channel was full it changed by {outage.growth / MIB:+.2f} MiB",
        f"- offered {answer['offered']:,}, confirmed {answer['confirmed']:,}, refused {answer['refused']}, "
        f"dropped {answer['dropped']}, delivered {outage.delivered:,}",
        f"- CPU {answer['cpu'] / answer['seconds']:.1%} of a core",
    ]
    return "\n".join([*lines, *(f"- FAULT: {each}" for each in outage.faults)])
