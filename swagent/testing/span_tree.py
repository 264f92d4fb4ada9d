"""The recorded spans as a tree of text, for the message of a budget that was exceeded; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from swagent.collector.api.failures import exception
from swagent.collector.api.node import Node
from swagent.collector.findings.calls import call_name
from swagent.collector.findings.words import duration, times

MOST_ROWS = 60
"""Rows of a tree; it says how many more there are."""
_ALIKE = 3  # calls that are one row
_LONGEST = 100


def tree(root: Node) -> str:
    """A row for each span, below its parent and with its duration. Calls that are alike, one after the other, are
    one."""
    rows = list(_rows(root))
    left = len(rows) - MOST_ROWS
    return "\n".join(rows[:MOST_ROWS] + ([f"  … and {left:,} rows more"] if left > 0 else []))


def _rows(root: Node) -> Iterator[str]:
    waiting: list[tuple[Sequence[Node], int]] = [([root], 1)]
    while waiting:  # not recursive: a trace may be deep
        nodes, depth = waiting.pop()
        yield _row(nodes, depth)
        if len(nodes) == 1:
            waiting += reversed([(each, depth + 1) for each in _grouped(nodes[0].children)])


def _grouped(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    for _, alike in groupby(nodes, key=lambda node: (text_of(node), id(node) if node.children else 0)):
        found = list(alike)
        yield from [found] if len(found) >= _ALIKE else ([node] for node in found)


def _row(nodes: Sequence[Node], depth: int) -> str:
    took, text = sum(node.end - node.start for node in nodes), text_of(nodes[0])
    named = times(len(nodes), text) if len(nodes) > 1 else text
    return f"{'  ' * depth}{named}  {duration(took) if took else '<1 ms'}"


def text_of(node: Node) -> str:
    """A span in words: its call with its peer, or its operation, and how it failed."""
    span = node.span
    name = call_name(node) if span.kind == "Exit" else span.operation
    peer = f" → {span.peer}" if span.peer and span.kind == "Exit" else ""
    kind = exception(span)[0].rpartition(".")[2]
    outcome = f"  FAILED {kind}".rstrip() if span.is_error else f"  {(span.tag('outcome') or '').replace('_', ' ')}"
    return _printable(f"{name or '(no name)'}{peer}") + outcome.rstrip()


def _printable(text: str) -> str:
    clean = "".join(character if character.isprintable() else "·" for character in text[: _LONGEST + 1])
    return clean if len(clean) <= _LONGEST else f"{clean[: _LONGEST - 1]}…"
