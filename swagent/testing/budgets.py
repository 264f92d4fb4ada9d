"""Budgets of recorded requests: for each that is exceeded a message, with the sentence of the finding and the tree of
the spans; pure.

They ask the functions of the collector's findings, so that a test says the same as the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from swagent.collector.api.failures import exception, status
from swagent.collector.api.node import Node
from swagent.collector.api.tree import depth_first, join
from swagent.collector.findings.calls import call_name, is_read
from swagent.collector.findings.cause_findings import place_of
from swagent.collector.findings.chains import chain_of
from swagent.collector.findings.chains import finding_of as chain_finding
from swagent.collector.findings.holds import BLOCKED, millis
from swagent.collector.findings.repeats import has_failed, n_plus_one, repeats
from swagent.collector.findings.requests import awaited_pairs, entry_of
from swagent.collector.findings.words import duration, plural, times
from swagent.collector.store.trace_records import Segment, Span

from .span_tree import text_of, tree

_MOST_LINES = 8
_AWAITING = "time.awaiting"


@dataclass(frozen=True)
class Held:
    """A time for which an event loop was held.

    :ivar frame: where, of the application's own code
    """

    ms: float
    frame: str


@dataclass(frozen=True)
class Recorded:
    """The spans and the held loops of a test, or of a part of it.

    :ivar name: of the test
    """

    name: str
    segments: Sequence[Segment]
    held: Sequence[Held] = ()

    @cached_property
    def root(self) -> Node:
        """The test as a span, around all that were recorded in it. They do not have it as their parent."""
        roots = join(self.segments)
        begin = min((node.start for node in roots), default=0)
        end = max((node.end for node in roots), default=0)
        span = Span(0, -1, begin, end, self.name)
        node = Node(Segment("", "", "", "", (span,)), span)
        node.children = roots
        return node

    @cached_property
    def nodes(self) -> Sequence[Node]:
        """Every span, parents first."""
        return [node for node, _ in depth_first(self.root.children)]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded."""
        return not self.segments and not self.held


Budget = Callable[[Recorded], "str | None"]
"""The message for records that exceed it; None where they do not."""


def max_queries(most: int) -> Budget:
    """At most so many calls of databases."""

    def check(recorded: Recorded) -> str | None:
        names = [call_name(node) for node in recorded.nodes if is_query(node)]
        if len(names) <= most:
            return None
        lines = [times(count, name) for name, count in Counter(names).most_common()]
        return _message(recorded, f"{_queries(len(names))}, at most {most} allowed", lines, list(_repeated(recorded)))

    return check


def is_query(node: Node) -> bool:
    """Whether a span is a call of a database."""
    return node.span.kind == "Exit" and node.span.layer == "Database"


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count:,} queries"


def no_n_plus_one(least: int) -> Budget:
    """No call that came so often below one span, one after the other."""

    def check(recorded: Recorded) -> str | None:
        found = list(_repeated(recorded, least))
        return _message(recorded, f"{plural(len(found), 'N+1')}", found) if found else None

    return check


def _repeated(recorded: Recorded, least: int = 10) -> Iterator[str]:
    """The sentences of the findings, however quick the calls were: a test has few rows, and its database is near."""
    for parent in (recorded.root, *recorded.nodes):
        for repeat in repeats([parent]):
            # a test may call what it tests again and again, and fill a table
            if parent is recorded.root and not (is_query(repeat.nodes[0]) and is_read(repeat.nodes[0])):
                continue
            around = entry_of(parent) or parent
            finding = n_plus_one(repeat, around.end - around.start, least=least, least_ms=0)
            if finding is not None:
                yield f"{parent.span.operation}: {finding.sentence}"


def max_blocked_ms(most: float) -> Budget:
    """No event loop held for longer."""

    def check(recorded: Recorded) -> str | None:
        found = sorted((each for each in recorded.held if each.ms > most), key=lambda each: -each.ms)
        if not found:
            return None
        lines = [_held(recorded, each) for each in found]
        return _message(recorded, f"the event loop was held for {duration(found[0].ms)}, {_allowed(most)}", lines)

    return check


def _held(recorded: Recorded, held: Held) -> str:
    spans = (node for node in recorded.nodes if any(("frame", held.frame) in log.data for log in node.span.logs))
    node = next((each for each in spans if each.span.tag(BLOCKED)), None)
    within = f" in {node.span.operation}" if node is not None else ""
    return f"{place_of(held.frame) or 'code that has no name'} held the event loop for {duration(held.ms)}{within}"


def max_awaiting_ms(most: float) -> Budget:
    """No request that awaited something for longer in all."""

    def check(recorded: Recorded) -> str | None:
        split = [node for node in recorded.nodes if node.span.kind == "Entry" and node.span.tag(_AWAITING) is not None]
        if not split and not recorded.is_empty:
            return _message(recorded, "no request was recorded whose time is split, so how long it awaited is unknown")
        found = [node for node in split if millis(node.span, _AWAITING) > most]
        found.sort(key=lambda node: -millis(node.span, _AWAITING))
        if not found:
            return None
        longest = duration(millis(found[0].span, _AWAITING))
        return _message(recorded, f"a request awaited for {longest}, {_allowed(most)}", list(map(_awaited, found)))

    return check


def _awaited(entry: Node) -> str:
    what = ", ".join(f"{name} {duration(ms)}" for name, ms in awaited_pairs(entry))
    took = duration(millis(entry.span, _AWAITING))
    return f"{entry.span.operation} awaited {what or 'something'} · {took} of {duration(entry.end - entry.start)}"


def _allowed(most: float) -> str:
    return f"at most {most:g} ms allowed"


def no_failed() -> Budget:
    """No request and no call that failed, or was given up at its deadline."""

    def check(recorded: Recorded) -> str | None:
        failed = [node for node in recorded.nodes if has_failed(node)]
        if not failed:
            return None
        return _message(recorded, f"{plural(len(failed), 'span')} failed", list(_failures(failed)))

    return check


def _failures(failed: Iterable[Node]) -> Iterator[str]:
    """The way of each request that failed, and the failures that ended none."""
    covered: set[Node] = set()
    for node in failed:
        if node in covered:
            continue
        below = [each for each, _ in depth_first([node])]
        chain = chain_of(node, below)
        if chain is not None:
            covered.update(below)
            yield chain_finding(chain).sentence
        elif not any(has_failed(child) for child in node.children):
            kind, message, _ = exception(node.span)
            cause = f"{kind}: {message}" if kind else status(node.span) or "without an exception"
            yield f"{text_of(node).partition('  ')[0]} failed: {cause}"


def _message(recorded: Recorded, said: str, *parts: Sequence[str]) -> str:
    lines = [line for part in parts for line in _bounded(part)]
    shown = tree(recorded.root)
    return "\n".join((f"{recorded.name}: {said}", *lines, "recorded:", shown))


def _bounded(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _MOST_LINES
    rest = [f"  … and {left:,} more"] if left > 0 else []
    return [f"  {line}" for line in lines[:_MOST_LINES]] + rest


def nothing(name: str) -> str:
    """The message where there is nothing to judge."""
    return (
        f"{name}: nothing was recorded, so its budgets prove nothing. Recorded are the requests of applications in "
        "this process with SkyWalkingMiddleware around them, calls of instrumented libraries, and spans made by hand. "
        "An Agent that the test itself enters records for itself"
    )
