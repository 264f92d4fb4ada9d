"""Tables in Markdown, and what their cells have in common."""

from __future__ import annotations

from collections.abc import Sequence


def make_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table under its title; empty where there are no rows."""
    if not rows:
        return ""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join((f"### {title}", "", *(f"| {' | '.join(line)} |" for line in lines)))


def show_share(share: float) -> str:
    """A share in percent, and never 100 % of what is not all."""
    return "100 %" if share == 1 else f"{min(99.9, 100 * share):.1f} %" if share < 1 else f"{100 * share:.2f} %"


def show_path(handler: str) -> str:
    """A handler as in its URL."""
    return f"/{handler}"
