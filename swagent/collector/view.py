"""Renders a trace as text; pure.

One row a span: duration, error mark, tree, kind, service, then the peer and the tags, shortened. The texts
of agents are foreign, and on their way to a terminal: characters that are not printable (escape sequences, line breaks)
become dots.
"""

from __future__ import annotations

from dataclasses import dataclass

from .api.clocks import extent
from .api.node import Node
from .api.tree import join, walk
from .store.trace_records import Segment, Span

MAX_ROWS = 200
MAX_TAGS = 4
_LEAD, _OPERATION, _SERVICE, _TAG = 60, 60, 24, 40
_CODES = {"plain": "", "bold": "1", "dim": "2", "red": "31", "cyan": "36"}


@dataclass(frozen=True)
class Palette:
    """Colours, or none."""

    colours: bool = False

    def paint(self, text: str, colour: str) -> str:
        """The text in a colour: plain, bold, dim, red or cyan."""
        code = _CODES[colour]
        return f"\033[{code}m{text}\033[0m" if self.colours and code and text else text


PLAIN = Palette()


def render(trace_id: str, segments: list[Segment], palette: Palette = PLAIN, remark: str = "") -> str:
    """A trace's segments as a tree, as many lines as it needs, without a line break at the end.

    :param remark: is shown behind the trace's id
    """
    roots = join(segments)
    rows = list(walk(roots))
    nodes = [node for node, _ in rows]
    lines = [
        palette.paint(" ".join(filter(None, ("Trace", _shorten(trace_id, 80), remark))), "bold"),
        palette.paint("  " + _summary(roots, nodes), "dim"),
    ]
    orphans = [node for node in nodes if node.missing]
    if orphans:
        spans = "1 span hangs" if len(orphans) == 1 else f"{len(orphans):,} spans hang"
        lines.append(palette.paint(f"  incomplete: {spans} under a parent that was not received", "red"))
    lines += _table(rows[:MAX_ROWS], palette)
    if len(rows) > MAX_ROWS:
        lines.append(f"  … {len(rows) - MAX_ROWS:,} more spans")
    return "\n".join(lines)


def _summary(roots: list[Node], nodes: list[Node]) -> str:
    spans = [node.span for node in nodes]
    whole = extent(roots, max(nodes, key=lambda node: node.end, default=None))
    after = f" and {whole.after:,} ms {'of messaging' if whole.is_messaging else 'afterwards'}" if whole.after else ""
    counts = [
        f"{whole.duration:,} ms{after}",
        _count(len({node.segment.service for node in nodes}), "service"),
        _count(len(nodes), "span"),
    ]
    errors = sum(span.is_error for span in spans)
    return " · ".join([*counts, _count(errors, "error")] if errors else counts)


def _table(rows: list[tuple[Node, str]], palette: Palette) -> list[str]:
    cells = [
        (
            _duration(node.span),
            _indent(lead) + _shorten(node.span.operation or "(no name)", _OPERATION),
            node.span.kind,
            _shorten(node.segment.service, _SERVICE),
        )
        for node, lead in rows
    ]
    duration, operation, kind, service = (max((len(row[n]) for row in cells), default=0) for n in range(4))
    lines: list[str] = []
    for (node, _), cell in zip(rows, cells, strict=True):
        is_error = node.span.is_error
        lines.append(
            "  ".join(
                (
                    f"  {cell[0]:>{duration}} {palette.paint('✗', 'red') if is_error else ' '}",
                    palette.paint(f"{cell[1]:<{operation}}", "red" if is_error else "plain"),
                    f"{cell[2]:<{kind}}",
                    palette.paint(f"{cell[3]:<{service}}", "cyan"),
                    palette.paint(_extras(node), "dim"),
                )
            ).rstrip()
        )
    return lines


def _indent(lead: str) -> str:
    return lead if len(lead) <= _LEAD else "…" + lead[1 - _LEAD :]


def _extras(node: Node) -> str:
    span = node.span
    parts = [f"→ {_shorten(span.peer, _TAG)}"] if span.peer else []
    parts += [f"{_shorten(key, _TAG)}={_shorten(value, _TAG)}" for key, value in span.tags[:MAX_TAGS]]
    if len(span.tags) > MAX_TAGS:
        parts.append(f"+{len(span.tags) - MAX_TAGS} tags")
    if node.missing:
        parts.append(f"(missing: {_shorten(node.missing, 2 * _TAG)})")
    return " ".join(parts)


def _duration(span: Span) -> str:
    return f"{span.end_time - span.start_time:,} ms" if span.end_time >= span.start_time else "? ms"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _shorten(text: str, size: int) -> str:
    clean = "".join(character if character.isprintable() else "·" for character in text[: size + 1])
    return clean if len(clean) <= size else clean[: size - 1] + "…"
