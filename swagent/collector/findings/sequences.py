"""Calls that were awaited one after the other, and that might go side by side; pure.

Spans do not say whether a call needs the answer of the one before. So this is a hint: only reads of different peers,
with nothing between them, whose number and order is the same in each request that was looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..api.node import Node
from .calls import call_of, is_exit, is_read
from .finding import Finding, trace_link
from .places import places
from .words import duration, percent

LEAST_MS = 30
"""Milliseconds that are worth a hint."""
LEAST_SHARE = 0.2
"""The share of a request that is worth one."""
LEAST_SEEN = 3
"""Requests in which the order has to be the same."""
_SHORT = 5  # milliseconds: a call that is quicker is not worth a task
_BETWEEN = 0.1  # of the time of the calls: own work between them may be what makes the next one


class Run(NamedTuple):
    """Calls that followed each other.

    :ivar saves: milliseconds that it would take less if they went side by side
    """

    entry: Node
    nodes: Sequence[Node]
    names: tuple[str, ...]
    saves: int


def run_of(entry: Node) -> Run | None:
    """The calls of a request that followed each other; None where they are not of that kind."""
    exits = sorted((child for child in entry.children if is_exit(child)), key=lambda node: node.start)
    nodes = [node for node in exits if node.end - node.start >= _SHORT]
    if len(nodes) < 2 or not all(map(is_read, exits)) or any(node.span.is_error for node in exits):
        return None
    if len({node.span.peer for node in nodes}) < len(nodes) or _is_interleaved(exits):
        return None
    took = [node.end - node.start for node in nodes]
    between = nodes[-1].end - nodes[0].start - sum(took)
    if between > max(_BETWEEN * sum(took), 2 * len(nodes)):
        return None
    return Run(entry, nodes, tuple(" ".join(call_of(node)) for node in nodes), sum(took) - max(took))


def _is_interleaved(exits: Sequence[Node]) -> bool:
    return any(second.start < first.end - 1 for first, second in pairwise(exits))


def hint(found: Iterable[Run]) -> Finding | None:
    """The hint of requests of one operation; None where their calls differ, or where it saves little."""
    sequences = list(found)
    if len(sequences) < LEAST_SEEN or len({each.names for each in sequences}) > 1:
        return None
    middle = sorted(sequences, key=lambda each: each.saves)[len(sequences) // 2]
    took = max(middle.entry.end - middle.entry.start, 1)
    if middle.saves < max(LEAST_MS, LEAST_SHARE * took):
        return None
    service, operation = middle.entry.segment.service, middle.entry.span.operation
    names = ", then ".join(f"{call_of(node).name} at {node.span.peer}" for node in middle.nodes)
    text = (
        f"{service} · {operation} awaits {names}; if none of them needs the answer of another, "
        f"side by side they take {duration(middle.saves)} less, {percent(middle.saves / took)} of the request"
    )
    evidence = places(middle.nodes)
    return Finding(
        "sequential_awaits", text, service, operation, "low", trace_link(evidence[0]), count=len(sequences),
        ms=middle.saves, share=round(middle.saves / took, 4), places=evidence,
    )  # fmt: skip
