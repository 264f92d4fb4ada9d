"""`get_context()`: the place of this task or thread in its trace."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ..record.trace.model import RefKind, SpanKind
from ..record.trace.span import Span as OwnSpan
from ..record.trace.spans import current_span, current_trace_id, entry_span, exit_span, get_correlation, local_span
from ..record.trace.spans import put_correlation as put_own_correlation
from .carrier import Carrier
from .ids import ID
from .model import Component
from .snapshot import Snapshot
from .span import Span, number_of, wrap

# The component that takes an exit span over, by the span: a library that is used by another one.
_heirs: WeakKeyDictionary[OwnSpan, int] = WeakKeyDictionary()


class Segment:
    """The ids of the segment that is active when one looks; empty where nothing is recorded."""

    @property
    def segment_id(self) -> ID:
        """The segment's id."""
        span = current_span()
        return ID(span.segment_id if span is not None else "")

    @property
    def related_traces(self) -> list[ID]:
        """The trace's id, alone."""
        return [ID(current_trace_id())]


class SpanContext:
    """Opens spans here, and reads the active one."""

    def __init__(self) -> None:
        self.segment = Segment()
        self._correlation: dict[str, str] = {}

    def new_local_span(self, op: str) -> Span:
        """A span for work inside of this process."""
        return wrap(self, local_span(op), self._correlation)

    def new_entry_span(self, op: str, carrier: Carrier | None = None, inherit: Component | None = None) -> Span:
        """A span for what came in.

        :param inherit: where the active span is an entry span of this component, it is that one, with a new name
        """
        parent = current_span()
        if parent is not None and _is(parent, SpanKind.ENTRY, inherit):
            parent.name = op
            return wrap(self, parent)
        return wrap(self, entry_span(op), self._correlation).extract(carrier)

    def new_exit_span(
        self, op: str, peer: str, component: Component | None = None, inherit: Component | None = None
    ) -> Span:
        """A span for a call to another service.

        :param inherit: the component of a library below this one, whose exit span is this one
        """
        parent, number = current_span(), number_of(component)
        if parent is not None and parent.kind is SpanKind.EXIT and number and _heirs.get(parent) == number:
            span = wrap(self, parent)
            span.op, span.peer, span.component = op, peer, component
            own = parent
        else:
            own = exit_span(op, peer, component=number)
            span = wrap(self, own, self._correlation)
        if inherit is not None:
            _heirs[own] = number_of(inherit)
        return span

    @property
    def active_span(self) -> Span | None:
        """The active span of this task or thread, whichever library has opened it."""
        own = current_span()
        return wrap(self, own) if own is not None else None

    def peek(self, raise_if_none: bool = False) -> Span | None:
        """As `active_span`.

        :raises RuntimeError: there is none, and that is asked for
        """
        span = self.active_span
        if span is None and raise_if_none:
            raise RuntimeError("No active span")
        return span

    def get_correlation(self, key: str) -> str | None:
        """An element that travels with the trace."""
        found = get_correlation(key)
        return self._correlation.get(key) if found is None else found

    def put_correlation(self, key: str, value: str | None) -> None:
        """Let an element travel with the trace; None takes it away. Without an active span, the next one from this
        context takes it along."""
        if current_span() is not None:
            put_own_correlation(key, value or "")
        elif value is None:
            self._correlation.pop(key, None)
        else:
            self._correlation[key] = value

    def is_inside(self, segment_id: str) -> bool:
        """Whether the active span is in the segment of that id."""
        span = current_span()
        segment = span.segment if span is not None else None
        # `Span.segment_id` would fix the place of the span, and so the trace that it belongs to
        return segment is not None and segment_id in (segment.id, segment.root_segment.id)

    def capture(self) -> Snapshot | None:
        """The place of the active span, for another thread; None without one."""
        own = current_span()
        return Snapshot(own.reference(), own.carried()) if own is not None else None

    def continued(self, snapshot: Snapshot | None) -> None:
        """Let the active span continue a place that was captured elsewhere."""
        span = self.active_span
        if snapshot is None or snapshot.reference is None or span is None or snapshot.is_from_current(self):
            return
        span.refer_to(snapshot.reference._replace(kind=RefKind.CROSS_THREAD), snapshot.correlation)


def _is(span: OwnSpan, kind: SpanKind, component: object) -> bool:
    return span.kind is kind and component is not None and span.component == number_of(component)


def get_context() -> SpanContext:
    """The context of this task or thread."""
    return SpanContext()
