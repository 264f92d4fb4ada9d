"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .contestants import CONTESTANTS, HANDLERS, TRANSPORTS
from .figures import AtRate, Figures, Key, Spread
from .verdict import Failure

# What the official agent's documentation says that its async mode gains in requests per second.
PUBLISHED = {"grpc": "+32.8 %", "http": "+9.8 %", "kafka": "+89.6 %"}
_CLOSED = "saturated"


def render_throughput(figures: Mapping[Key, Figures]) -> str:
    """Requests per second of the bare application, and each contestant's share of them."""
    handlers = _handlers(figures)
    rows = []
    for name in _contestants(figures):
        found = [figures.get((name, handler)) for handler in handlers]
        show = _show_qps if CONTESTANTS[name].agent == "bare" else _show_ratio
        rows.append([name, *("" if each is None else show(each) for each in found)])
    return _table("Requests per second at saturation, of the bare application's", ["", *map(_path, handlers)], rows)


def _show_qps(each: Figures) -> str:
    # where there are several in one round, how far they are apart says what a difference between others is worth
    noise = "" if each.ratio.low == each.ratio.high else f", noise {each.ratio.low:.2f}-{each.ratio.high:.2f}"
    return f"{each.qps.show(',.0f')}/s{noise}"


def _show_ratio(each: Figures) -> str:
    share = each.delivered_share
    return each.ratio.show(".2f") if share == 1 else f"{each.ratio.show('.2f')}, {_percent(share)} delivered"


def render_latency(figures: Mapping[Key, Figures]) -> str:
    """Latency from the moment that a request was due, at fixed rates; one table for each handler."""
    return "\n\n".join(
        _render_latency_of(figures, handler) for handler in _handlers(figures) if _shares(figures, handler)
    )


def _render_latency_of(figures: Mapping[Key, Figures], handler: str) -> str:
    shares = _shares(figures, handler)
    heads = [f"at {share} % {what}" for share in shares for what in ("p50", "p99", "longest", "answered")]
    rows = []
    for name in _contestants(figures):
        each = figures.get((name, handler))
        if each is not None:
            at_rates = [cell for share in shares for cell in _latency_cells(each.at[share])]
            rows.append([name, *at_rates, f"{each.p99.show('.1f')}, {each.p99_ratio.median:.2f} x"])
    return _table(f"Latency in ms, `{_path(handler)}`", ["", *heads, f"{_CLOSED} p99"], rows)


def _latency_cells(at: AtRate) -> list[str]:
    return [
        at.p50.show(".2f"),
        f"{at.p99.show('.1f')}, {at.p99_ratio.median:.2f} x",
        f"{at.longest:.0f}",
        _percent(at.answered),
    ]


def render_costs(figures: Mapping[Key, Figures]) -> str:
    """Processor time, memory, what was delivered, and how long the exit took; one table for each handler."""
    return "\n\n".join(_render_costs_of(figures, handler) for handler in _handlers(figures))


def _render_costs_of(figures: Mapping[Key, Figures], handler: str) -> str:
    phases = next(each.cpu for (_, of), each in figures.items() if of == handler)
    heads = [f"CPU s/1,000, {phase if phase == 'saturation' else f'at {phase} %'}" for phase in phases]
    heads += ["RSS MiB", "over bare", "segments delivered", "of", "logs delivered", "of", "exit s"]
    rows = [[name, *_cost_cells(each)] for name in _contestants(figures) if (each := figures.get((name, handler)))]
    return _table(f"Cost and delivery, `{_path(handler)}`", ["", *heads], rows)


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
        f"{delivered:,}" if delivered == expected else f"{delivered:,} = {_percent(delivered / expected)}",
        f"{expected:,}",
    ]


def render_modes(figures: Mapping[Key, Figures]) -> str:
    """The official agent's sync mode against its async mode, and the gain that its documentation gives."""
    rows = []
    for handler in _handlers(figures):
        for transport in TRANSPORTS:
            pair = [figures.get((f"official-{mode}-{transport}", handler)) for mode in ("sync", "async")]
            sync, other = pair
            if sync is not None and other is not None:
                gains = [other.qps.median / sync.qps.median - 1, other.throughput.median / sync.throughput.median - 1]
                rows.append(
                    [
                        f"{transport}, {_path(handler)}",
                        *(cell for each in (sync, other) for cell in _mode_cells(each)),
                        *(_show_gain(gain, sync, other) for gain in gains),
                        PUBLISHED[transport],
                    ]
                )
    heads = [f"{mode} {what}" for mode in ("sync", "async") for what in ("QPS", "KiB/s", "average ms", "delivered")]
    return _table("The official agent, sync against async", ["", *heads, "QPS", "KiB/s", "published QPS"], rows)


def _show_gain(gain: float, *modes: Figures) -> str:
    return f"{100 * gain:+.1f} %" if all(each.delivered_share for each in modes) else "void"


def _mode_cells(each: Figures) -> list[str]:
    kibibytes = Spread(*(value / 1024 for value in (each.throughput.median, each.throughput.low, each.throughput.high)))
    return [each.qps.show(",.0f"), kibibytes.show(",.0f"), each.mean.show(".1f"), _percent(each.delivered_share)]


def render_remarks(figures: Mapping[Key, Figures]) -> str:
    """What is known of the contestants that are shown."""
    shown = [CONTESTANTS[name] for name in _contestants(figures)]
    return "\n".join(f"- {each.name}: {each.remark}" for each in shown if each.remark)


def render_failures(failures: Iterable[Failure]) -> str:
    """What could not be measured, and why."""
    rows = [[each.contestant, _path(each.handler), each.reason.splitlines()[0]] for each in failures]
    return _table("Not measured", ["", "handler", "why"], rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Empty where there are no rows."""
    if not rows:
        return ""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join((f"### {title}", "", *(f"| {' | '.join(line)} |" for line in lines)))


def _percent(share: float) -> str:
    """Never 100 % of what is not all."""
    return "100 %" if share == 1 else f"{min(99.9, 100 * share):.1f} %" if share < 1 else f"{100 * share:.2f} %"


def _path(handler: str) -> str:
    return f"/{handler}"


def _handlers(figures: Mapping[Key, Figures]) -> list[str]:
    return [handler for handler in HANDLERS if any(of == handler for _, of in figures)]


def _contestants(figures: Mapping[Key, Figures]) -> list[str]:
    return [name for name in CONTESTANTS if any(of == name for of, _ in figures)]


def _shares(figures: Mapping[Key, Figures], handler: str) -> list[str]:
    return next((list(each.at) for (_, of), each in figures.items() if of == handler), [])
