"""Calls that one span made again and again: one query for each row of another one's result, or retries; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..api.node import Node
from .calls import Call, call_of, is_exit
from .finding import Confidence, Finding, Kind, trace_link
from .places import places
from .requests import entry_of
from .words import duration, percent, plural, times

LEAST = 10
"""Calls of one statement that are an N+1."""
LEAST_RETRIES = 3
"""Calls that are a storm of retries, of which all, or all but the last, failed."""
_ASKED = frozenset(("Database", "Cache", "Http", "RPCFramework", "GenAI"))
_ONE_BY_ONE = 0.8  # of their time, that the calls did not share
WORTH_MS, _WORTH_SHARE = 10, 0.1
"""Milliseconds that repeated calls have to take, or else the share of the request."""


class Repeat(NamedTuple):
    """The same call, several times below one span.

    :ivar took: milliseconds for which at least one of them was under way
    :ivar siblings: calls of any kind below that span
    """

    call: Call
    nodes: Sequence[Node]
    took: int
    siblings: int

    @property
    def is_serial(self) -> bool:
        """Whether one came after the other."""
        return self.took >= _ONE_BY_ONE * sum(node.end - node.start for node in self.nodes)

    @property
    def failed(self) -> int:
        """How many failed."""
        return sum(has_failed(node) for node in self.nodes)


def has_failed(node: Node) -> bool:
    """Whether a call failed, or was given up."""
    return node.span.is_error or node.span.tag("outcome") == "timed_out"


def repeats(nodes: Iterable[Node]) -> Iterator[Repeat]:
    """The calls that come at least `LEAST_RETRIES` times below one span of some spans."""
    for parent in nodes:
        exits = [child for child in parent.children if is_exit(child) and child.span.layer in _ASKED]
        if len(exits) < LEAST_RETRIES:
            continue
        groups: dict[Call, list[Node]] = {}
        for each in exits:
            groups.setdefault(call_of(each), []).append(each)
        for call, found in groups.items():
            if len(found) >= LEAST_RETRIES:
                yield Repeat(call, found, union(found), len(exits))


def n_plus_one(repeat: Repeat, whole: int, *, least: int = LEAST, least_ms: int = WORTH_MS) -> Finding | None:
    """The finding of a statement that was asked for each row; None where it is none.

    :param whole: milliseconds of the request
    :param least: so many calls are one
    :param least_ms: milliseconds that they have to take, unless that is much of the request
    """
    count = len(repeat.nodes)
    is_worth = repeat.took >= least_ms or repeat.took >= whole * _WORTH_SHARE
    if count < least or not repeat.is_serial or not is_worth or 2 * repeat.failed > count:
        return None
    share, of_calls = repeat.took / max(whole, 1), count / repeat.siblings
    text = (
        f"{percent(share)} · {_where(repeat)} · {times(count, repeat.call.name)}, one after the other · "
        f"{duration(repeat.took)}, {percent(of_calls)} of its {plural(repeat.siblings, 'call')}"
    )
    confidence: Confidence = "high" if count >= 2 * LEAST or repeat.siblings > count else "medium"
    return _finding("n_plus_one", text, repeat, confidence, min(share, 1.0))


def retry_storm(repeat: Repeat, whole: int) -> Finding | None:
    """The finding of a call that was tried again and again; None where it is none."""
    count, failed = len(repeat.nodes), repeat.failed
    if not repeat.is_serial or failed < LEAST_RETRIES - 1 or failed < count - 1 or count < LEAST_RETRIES:
        return None
    end = "none of them did it" if failed == count else "the last one did it"
    text = f"{_where(repeat)} · {repeat.call.name} was tried {count} times, {end} · {duration(repeat.took)}"
    return _finding("retry_storm", text, repeat, "high", min(repeat.took / max(whole, 1), 1.0), failed)


def _finding(kind: Kind, text: str, repeat: Repeat, confidence: Confidence, share: float, failures: int = 0) -> Finding:
    first = repeat.nodes[0]
    entry = entry_of(first) or first
    evidence = places(repeat.nodes)
    return Finding(
        kind,
        text,
        repeat.call.service,
        entry.span.operation,
        confidence,
        trace_link(evidence[0]),
        count=len(repeat.nodes),
        ms=repeat.took,
        failures=failures,
        share=round(share, 4),
        peer=repeat.call.peer,
        places=evidence,
    )


def _where(repeat: Repeat) -> str:
    return f"{repeat.call.service} → {repeat.call.peer}" if repeat.call.peer else repeat.call.service


def union(nodes: Iterable[Node]) -> int:
    """For how many milliseconds at least one of them was under way."""
    total, until = 0, 0
    for node in sorted(nodes, key=lambda each: each.start):
        total += max(node.end - max(node.start, until), 0)
        until = max(until, node.end)
    return total
