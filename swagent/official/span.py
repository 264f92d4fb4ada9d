"""Spans with the methods of the official agent, each around one of ours.

An application gives a span tags, a component and a layer before it starts. Ours records nothing until then, so that
waits here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..record.limits import address_of, describe, name_of
from ..record.trace.model import Reference, RefKind, SpanKind
from ..record.trace.span import Span as OwnSpan
from ..record.trace.spans import put_correlation
from .carrier import Carrier
from .model import Component, Kind, Layer
from .tags import Tag

if TYPE_CHECKING:
    from typing_extensions import Self

    from .context import SpanContext

_KINDS = {SpanKind.LOCAL: Kind.Local, SpanKind.ENTRY: Kind.Entry, SpanKind.EXIT: Kind.Exit}


class Span:
    """One operation. A context manager, or `start()` and `stop()` it."""

    def __init__(self, context: SpanContext, own: OwnSpan, correlation: Mapping[str, str] | None = None) -> None:
        """
        :param own: a span of ours; it has been started elsewhere, or this object starts it
        :param correlation: elements that travel with the trace from its start on
        """
        self.context = context
        self._own = own
        self._correlation = dict(correlation or {})
        self._waiting: list[Callable[[], object]] = []
        # who started it ends it
        self._depth = 1 if own.start_time else 0

    # -- life ---------------------------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """How often it was started and not stopped."""
        return self._depth

    def start(self) -> None:
        """Begin, and become the active span; inside of itself it only counts."""
        self._depth += 1
        if self._depth != 1:
            return
        self._own.start()
        for key, value in self._correlation.items():
            put_correlation(key, value)
        waiting, self._waiting = self._waiting, []
        for record in waiting:
            record()

    def stop(self) -> bool:
        """End, unless it was started more often than stopped. Returns whether it has ended."""
        self._depth -= 1
        if self._depth > 0:
            return False
        self._own.stop()
        return True

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self._note_failure(describe(error).get("stack", ""))
        elif error is not None:
            self._own.note_outcome(error)
        self.stop()

    # -- what it records ----------------------------------------------------------------------------------------------

    def tag(self, tag: Tag) -> Self:
        """Add a tag; one that is overridable takes the place of an earlier one with its key."""
        self._record(lambda: self._tag_now(tag))
        return self

    def log(self, ex: BaseException) -> Self:
        """Mark the operation as failed, and log an exception's message."""
        self._note_failure(str(ex))
        return self

    def raised(self) -> Self:
        """Mark the operation as failed, and log the stack of the exception that is being handled."""
        error = sys.exc_info()[1]
        self._note_failure(describe(error).get("stack", "") if error is not None else "")
        return self

    def _note_failure(self, text: str) -> None:
        self._record(lambda: self._own.error().log(Traceback=text))

    def _tag_now(self, tag: Tag) -> None:
        own = self._own
        if tag.overridable and not own.ended:
            own.tags = [(key, value) for key, value in own.tags if key != tag.key]
        own.tag(tag.key, tag.val)

    def _record(self, record: Callable[[], object]) -> None:
        if self._own.start_time:
            record()
        else:
            self._waiting.append(record)

    # -- its context --------------------------------------------------------------------------------------------------

    def inject(self) -> Carrier:
        """The context that goes with the call; its items are empty where the trace is not recorded."""
        carrier, headers = Carrier(), self._own.headers()
        for item in carrier:
            item.val = headers.get(item.key, "")
        return carrier

    def extract(self, carrier: Carrier | None) -> Self:
        """Continue the trace that a call or a message came with."""
        fields = carrier.fields() if carrier is not None else None
        if carrier is None or fields is None:
            return self
        if self._own.start_time:
            self.refer_to(Reference(RefKind.CROSS_PROCESS, *fields[1:]), carrier.correlation_carrier.correlation)
        else:
            self._own.carrier = fields
            self._own.correlation = dict(carrier.correlation_carrier.correlation)
        return self

    def refer_to(self, reference: Reference, correlation: Mapping[str, str]) -> None:
        """Take another place for a cause of this operation, and go on with its trace where that is still possible."""
        own, segment = self._own, self._own.segment
        if segment is None or own.ended:
            return
        # no header and no log record has its id yet
        if own.id == 0 and not own.refs and not segment.is_root_known:
            segment.trace_id = reference.trace_id
        own.refer_to(reference)
        for key, value in correlation.items():
            put_correlation(key, value)

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> Kind:
        """Whether it came in, goes out, or neither."""
        return _KINDS[self._own.kind]

    @property
    def sid(self) -> int:
        """Its number in its segment."""
        return self._own.id

    @property
    def pid(self) -> int:
        """Its parent's number; -1: none."""
        return self._own.parent_id

    @property
    def op(self) -> str:
        """The name of the operation."""
        return self._own.name

    @op.setter
    def op(self, op: str) -> None:
        self._own.name = name_of(op)

    @property
    def peer(self) -> str:
        """The address that is called, or that calls."""
        return self._own.peer

    @peer.setter
    def peer(self, peer: str) -> None:
        self._own.peer = address_of(peer)

    @property
    def component(self) -> Any:
        """The library."""
        return _member(Component, self._own.component)

    @component.setter
    def component(self, component: object) -> None:
        self._own.component = number_of(component)

    @property
    def layer(self) -> Any:
        """What kind of thing it is about."""
        return _member(Layer, self._own.layer)

    @layer.setter
    def layer(self, layer: object) -> None:
        self._own.layer = number_of(layer)

    @property
    def error_occurred(self) -> bool:
        """Whether it has failed."""
        return self._own.failed

    @error_occurred.setter
    def error_occurred(self, failed: bool) -> None:
        if not self._own.ended:
            self._own.failed = failed

    @property
    def start_time(self) -> int:
        """Milliseconds since the epoch; 0: it has not begun."""
        return int(self._own.start_time * 1000)

    @property
    def end_time(self) -> int:
        """Milliseconds since the epoch; 0: it has not ended."""
        return int(self._own.end_time * 1000)


class EntrySpan(Span):
    """A request or a message that came in."""


class ExitSpan(Span):
    """A call to another service."""


class NoopSpan(Span):
    """A span that is not recorded. None is made: any span may be one."""


def wrap(context: SpanContext, own: OwnSpan, correlation: Mapping[str, str] | None = None) -> Span:
    """A span of ours, with the methods of the official agent."""
    kinds = {SpanKind.ENTRY: EntrySpan, SpanKind.EXIT: ExitSpan}
    return kinds.get(own.kind, Span)(context, own, correlation)


def number_of(member: object) -> int:
    """A component or a layer as a number; 0 for what is none."""
    value = member.value if isinstance(member, Enum) else member
    return value if isinstance(value, int) else 0


def _member(kind: type[Enum], value: int) -> Any:
    # the catalogue has more of them than the official agent
    return kind(value) if value in {each.value for each in kind} else value
