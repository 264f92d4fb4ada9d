"""One clock for all spans of a trace, and how long the trace took; pure.

Processes stamp spans by their own clocks. Where a call cannot have been as it was stamped, its caller is believed, and
the spans of the called process are moved. A trace takes as long as its root: the later work of consumers of messages is
no part of the answer that the caller waited for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..store.trace_records import Span
from .node import Node

_ROUNDING = 1  # times are whole milliseconds


def align(child: Node, parent: Node) -> None:
    """Move a span by the clock of the span above it, which has been moved before."""
    is_message = _is_message(child)
    child.is_consumed = parent.is_consumed or is_message
    if (child.segment.service, child.segment.instance) == (parent.segment.service, parent.segment.instance):
        child.shift = parent.shift
    else:
        child.shift = _shift(child.span, parent, is_message)


def _is_message(node: Node) -> bool:
    return node.span.kind == "Entry" and node.span.layer == "MQ"


def _shift(span: Span, caller: Node, is_message: bool) -> int:
    """No span starts before the one that called it. A call that was answered encloses the work for its answer: the
    rest of its time is taken for the way, half of it there and half of it back."""
    early = caller.start - span.start_time
    is_answered = not is_message and caller.span.kind == "Exit" and not caller.span.is_error
    late = span.start_time - caller.end
    if early <= _ROUNDING and not (is_answered and late > _ROUNDING):
        return 0
    way = caller.end - caller.start - (span.end_time - span.start_time)
    return early + (max(way, 0) // 2 if is_answered else 0)


class Extent(NamedTuple):
    """How long a trace took.

    :ivar start: of its root
    :ivar duration: of its root
    :ivar after: milliseconds for which it went on after its root had ended
    :ivar is_messaging: whether that was the work of consumers of messages
    """

    start: int
    duration: int
    after: int
    is_messaging: bool


def extent(roots: Iterable[Node], last: Node | None) -> Extent:
    """How long a trace took.

    :param roots: of its trees
    :param last: the span that ended last; None where there is none
    """
    head = min(roots, key=lambda node: (bool(node.span.references), bool(node.missing), node.start), default=None)
    if head is None or last is None:
        return Extent(0, 0, 0, False)
    end = max(head.end, head.start)
    return Extent(head.start, end - head.start, max(last.end - end, 0), last.end > end and last.is_consumed)
