"""The context of one moment, to be continued in another thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..record.trace.model import Reference
from .ids import ID

if TYPE_CHECKING:
    from .context import SpanContext


class Snapshot:
    """A place in a trace, with the elements that travel with it."""

    def __init__(self, reference: Reference | None, correlation: Mapping[str, str]) -> None:
        """:param reference: None: the trace is not recorded"""
        self.reference = reference
        self.correlation = dict(correlation)

    @property
    def trace_id(self) -> ID | None:
        """The trace's id."""
        return ID(self.reference.trace_id) if self.reference is not None else None

    @property
    def segment_id(self) -> str | None:
        """The segment's id."""
        return self.reference.segment_id if self.reference is not None else None

    @property
    def span_id(self) -> int:
        """The span's number in its segment."""
        return self.reference.span_id if self.reference is not None else -1

    @property
    def endpoint(self) -> str | None:
        """The operation that the segment serves."""
        return self.reference.endpoint if self.reference is not None else None

    def is_from_current(self, context: SpanContext) -> bool:
        """Whether it was captured in the segment that is active now."""
        return self.segment_id is not None and context.is_inside(self.segment_id)

    def is_valid(self) -> bool:
        """Whether it names a place."""
        return self.reference is not None
