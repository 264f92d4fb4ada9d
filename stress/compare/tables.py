"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..markdown import make_chapter, show_path, show_share
from .contestants import CONTESTANTS
from .figures import AtRate, Figures, Key, contestants_of, handlers_of
from .verdict import Failure

_CLOSED = "saturated"


def render_throughput(figures: Mapping[Key, Figures]) -> str:
    """Requests per second of the bare application, and each contestant's share of them."""
    handlers = handlers_of(figures)
    rows = []
    for name in contestants_of(figures):
        found = [figures.get((name, handler)) for handler in handlers]
        show = _show_qps if CONTESTANTS[name].agent == "bare" else _show_ratio
        rows.append([name, *("" if each is None else show(each) for each in found)])
    return make_chapter(
        "Requests per second at saturation, of the bare application's", ["", *map(show_path, handlers)], rows
    )


def render_efficiency(figures: Mapping[Key, Figures]) -> str:
    """The same for each second of processor time: steadier than wall time where a machine has other work."""
    handlers = handlers_of(figures)
    rows = []
    for name in contestants_of(figures):
        found = [figures.get((name, handler)) for handler in handlers]
        rows.append([name, *("" if each is None else each.efficiency.show(".2f") for each in found)])
    title = "Requests for each second of the application's processor time at saturation, of the bare application's"
    return make_chapter(title, ["", *map(show_path, handlers)], rows)


def _show_qps(each: Figures) -> str:
    # where there are several in one round, how far they are apart says what a difference between others is worth
    noise = "" if each.ratio.low == each.ratio.high else f", noise {each.ratio.low:.2f}-{each.ratio.high:.2f}"
    return f"{each.qps.show(',.0f')}/s{noise}"


def _show_ratio(each: Figures) -> str:
    share = each.delivered_share
    return each.ratio.show(".2f") if share == 1 else f"{each.ratio.show('.2f')}, {show_share(share)} delivered"


def render_latency(figures: Mapping[Key, Figures]) -> str:
    """Latency from the moment that a request was due, at fixed rates; one table for each handler."""
    return "\n\n".join(
        _render_latency_of(figures, handler) for handler in handlers_of(figures) if _shares(figures, handler)
    )


def _render_latency_of(figures: Mapping[Key, Figures], handler: str) -> str:
    shares = _shares(figures, handler)
    heads = [f"at {share} % {what}" for share in shares for what in ("p50", "p99", "longest", "answered")]
    rows = []
    for name in contestants_of(figures):
        each = figures.get((name, handler))
        if each is not None:
            at_rates = [cell for share in shares for cell in _latency_cells(each.at[share])]
            rows.append([name, *at_rates, f"{each.p99.show('.1f')}, {each.p99_ratio.median:.2f} x"])
    return make_chapter(f"Latency in ms, `{show_path(handler)}`", ["", *heads, f"{_CLOSED} p99"], rows)


def _latency_cells(at: AtRate) -> list[str]:
    return [
        at.p50.show(".2f"),
        f"{at.p99.show('.1f')}, {at.p99_ratio.median:.2f} x",
        f"{at.longest:.0f}",
        show_share(at.answered),
    ]


def render_costs(figures: Mapping[Key, Figures]) -> str:
    """Processor time, memory, what was delivered, and how long the exit took; one table for each handler."""
    return "\n\n".join(_render_costs_of(figures, handler) for handler in handlers_of(figures))


def _render_costs_of(figures: Mapping[Key, Figures], handler: str) -> str:
    phases = next(each.cpu for (_, of), each in figures.items() if of == handler)
    heads = [f"CPU s/1,000, {phase if phase == 'saturation' else f'at {phase} %'}" for phase in phases]
    heads += ["RSS MiB", "over bare", "segments delivered", "of", "logs delivered", "of", "exit s"]
    rows = [[name, *_cost_cells(each)] for name in contestants_of(figures) if (each := figures.get((name, handler)))]
    return make_chapter(f"Cost and delivery, `{show_path(handler)}`", ["", *heads], rows)


def _cost_cells(each: Figures) -> list[str]:
    exits = each.exit.show(".2f") if not each.killed else f"{each.exit.show('.2f')}, killed {each.killed} times"
    return [
        *(phase.show(".3f") for phase in each.cpu.values()),
        each.rss.show(".0f"),
        format(each.rss_added.median, "+.1f"),
        *_delivery_cells(each.delivered.segments, each.expected.segments),
        *_delivery_cells(each.delivered.logs, each.expected.logs),
        exits,
    ]


def _delivery_cells(delivered: int, expected: int) -> list[str]:
    if not expected:
        return ["-", "-"]
    return [
        f"{delivered:,}" if delivered == expected else f"{delivered:,} = {show_share(delivered / expected)}",
        f"{expected:,}",
    ]


def render_remarks(figures: Mapping[Key, Figures]) -> str:
    """The remarks on the contestants that are shown."""
    shown = [CONTESTANTS[name] for name in contestants_of(figures)]
    return "\n".join(f"- {each.name}: {each.remark}" for each in shown if each.remark)


def render_failures(failures: Iterable[Failure]) -> str:
    """The contestants and handlers that could not be measured, and why."""
    rows = [[each.contestant, show_path(each.handler), each.reason.splitlines()[0]] for each in failures]
    return make_chapter("Not measured", ["", "handler", "why"], rows)


def _shares(figures: Mapping[Key, Figures], handler: str) -> list[str]:
    return next((list(each.at) for (_, of), each in figures.items() if of == handler), [])
