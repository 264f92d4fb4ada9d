"""A span in the tree of its trace, by the clock of that trace."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..store.trace_records import Segment, Span

Key = tuple[str, int]
"""A segment's id, and the number of a span in it."""


@dataclass(eq=False, slots=True)
class Node:
    """A span in its tree.

    :ivar shift: milliseconds by which it was moved
    :ivar is_consumed: whether it was caused by a message, whose sender does not wait
    :ivar missing: the parent that was named but not received, in words; empty where there is none
    :ivar parent_key: the segment and span of the parent that was found
    """

    segment: Segment
    span: Span
    shift: int = field(default=0, init=False)
    is_consumed: bool = field(default=False, init=False)
    parent: Node | None = None
    children: list[Node] = field(default_factory=list["Node"])
    missing: str = ""
    parent_key: Key | None = None

    @property
    def start(self) -> int:
        """When it began."""
        return self.span.start_time + self.shift

    @property
    def end(self) -> int:
        """When it ended."""
        return self.span.end_time + self.shift
