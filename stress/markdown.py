"""Tables in Markdown, and what their cells have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def make_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def make_chapter(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table under its title; empty where there are no rows."""
    return f"### {title}\n\n{make_table(heads, rows)}" if rows else ""


def show_share(share: float) -> str:
    """A share in percent, and never 100 % of what is not all."""
    return "100 %" if share == 1 else f"{min(99.9, 100 * share):.1f} %" if share < 1 else f"{100 * share:.2f} %"


def show_path(handler: str) -> str:
    """A handler as in its URL."""
    return f"/{handler}"
