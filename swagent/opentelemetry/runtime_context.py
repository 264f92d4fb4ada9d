"""OpenTelemetry's context on top of swagent's context variable: one truth of what is active.

A context of OpenTelemetry's holds a span and other values. The span in it is whatever is active in swagent's variable:
attaching a context sets that variable, and asking for the current one looks at it. So native spans and bridged ones are
each other's parents. The other values are in a variable of their own.

Attachments form a chain in each context, the last one first. Detaching restores the former entry. One that is detached
out of turn is taken out of the chain; in another context than its own it is not in the chain, and nothing happens. So
nothing here raises.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from opentelemetry.context.context import Context
from opentelemetry.context.context import (
    _RuntimeContext as RuntimeContext,  # pyright: ignore[reportPrivateUsage]
)
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, set_span_in_context

from ..record.trace.carrier import Carrier
from ..record.trace.context import active_span, current, switch
from ..record.trace.model import Origin, Reference, SpanKind, origin_of
from ..record.trace.span import Span
from ..record.trace.traceparent import Traceparent
from .locations import reference_of
from .proxies import RemoteSpan, SpanProxy

# The key is not public; the function that writes it is.
SPAN_KEY = next(iter(set_span_in_context(INVALID_SPAN, Context())))
# Code that attaches and never detaches would otherwise hold all contexts it ever had.
_MOST_ATTACHED = 100
_ALWAYS = float("-inf")


class Arrival:
    """The entry of the context variable for an attached context whose span is not one of this process: a caller's span,
    or none at all. A span that begins here continues the caller's trace, or begins one.

    :ivar hidden: the span that was active before
    :ivar carrier: the caller; None for none
    """

    ended = True
    kind = SpanKind.LOCAL
    previous = None
    frame = None

    def __init__(self, hidden: Any, span: Any) -> None:
        self.hidden = hidden
        self.carrier: Carrier | Traceparent | None = None
        self.correlation: dict[str, str] | None = None
        self._reference: Reference | None = None
        if isinstance(span, RemoteSpan):
            self.carrier, self.correlation = span.carrier, span.correlation
        if isinstance(span, NonRecordingSpan):
            context = span.get_span_context()
            self._reference = reference_of(context)
            if self.carrier is None and self._reference is None and context.is_valid:
                self.carrier = Traceparent(
                    f"{context.trace_id:032x}", f"{context.span_id:016x}", int(context.trace_flags)
                )

    @property
    def is_recorded(self) -> bool:
        """Whether a reference to it can be had; a caller that is known by its trace alone has none."""
        return self._reference is not None

    def age(self) -> float:
        """None: it was attached on purpose, and does not grow old."""
        return _ALWAYS

    def reference(self) -> Reference | None:
        """The reference of a segment that is opened here."""
        return self._reference

    @property
    def trace_id(self) -> str:
        """The trace's id; empty where no reference can be had."""
        return self._reference.trace_id if self._reference is not None else ""

    def find_trace_id(self) -> str:
        """As `trace_id`."""
        return self.trace_id

    def note_origin(self) -> Origin | None:
        """The origin of a log record that is logged here; None where no reference can be had."""
        return origin_of(self._reference)

    def to_span(self) -> None:
        """None: it is past."""

    def carried(self) -> dict[str, str]:
        """The correlation context of the trace."""
        return self.correlation or {}


class Attachment:
    """A context that is attached; the token of it.

    :ivar entry: its entry in swagent's variable
    :ivar former_entry: the entry that was there before
    :ivar before: the attachment before it
    """

    __slots__ = ("_context", "before", "depth", "entry", "former_entry")

    def __init__(self, context: Context | None, entry: Any, former_entry: Any, before: Attachment | None) -> None:
        """:param context: None: the former one with the entry in it, which is a span of OpenTelemetry"""
        self._context = context
        self.entry = entry
        self.former_entry = former_entry
        depth = before.depth + 1 if before is not None else 0
        self.before: Attachment | None = before if depth < _MOST_ATTACHED else None
        self.depth: int = depth if depth < _MOST_ATTACHED else 0

    @property
    def is_span_alone(self) -> bool:
        """Whether the other values have not been needed yet."""
        return self._context is None

    def context(self, former: RuntimeContext) -> Context:
        """The attached context, which is made when it is needed: mostly it is not."""
        context = self._context
        if context is None:
            values = self.before.context(former) if self.before is not None else former.get_current()
            context = self._context = Context({**values, SPAN_KEY: self.entry})
        return context


_attached: ContextVar[Attachment | None] = ContextVar("swagent_opentelemetry_attached", default=None)
# The context made last from the active span and the other values: instrumentations ask for it several times a call.
_made: ContextVar[tuple[Any, Context, Context] | None] = ContextVar("swagent_opentelemetry_made", default=None)


class SharedContext(RuntimeContext):
    """Takes the place of OpenTelemetry's own."""

    def __init__(self, former: RuntimeContext) -> None:
        """:param former: the context that has the values where nothing was attached here"""
        self.former = former

    def attach(self, context: Context) -> Any:
        """Make a context the current one, until its token is detached."""
        former_entry = current.get()
        entry = entry_of(context.get(SPAN_KEY))
        if entry is None and former_entry is not None:
            entry = Arrival(active_span(former_entry) or getattr(former_entry, "hidden", None), context.get(SPAN_KEY))
        elif type(entry) is Arrival:
            entry.hidden = active_span(former_entry) or getattr(former_entry, "hidden", None)
        attachment = Attachment(context, entry, former_entry, _attached.get())
        switch(_attached, attachment)
        if entry is not former_entry:
            switch(current, entry)
        return attachment

    def attach_span(self, span: Any) -> Attachment:
        """Make a span of this process the current one, as `attach` would with a context that has it."""
        former_entry = current.get()
        attachment = Attachment(None, span, former_entry, _attached.get())
        switch(_attached, attachment)
        switch(current, span)
        return attachment

    def detach(self, token: Any) -> None:
        """Restore the entry that was there before the attachment of this token. A second call does nothing."""
        if type(token) is not Attachment:
            self.former.detach(token)
            return
        last = _attached.get()
        if last is token:
            switch(_attached, token.before)
            if current.get() is not token.former_entry:
                switch(current, token.former_entry)
            return
        while last is not None and last.before is not token:
            last = last.before
        if last is not None:
            last.before, last.former_entry = token.before, token.former_entry

    def has_values(self) -> bool:
        """Whether the current context holds more than a span, baggage for instance."""
        last = _attached.get()
        while last is not None and last.is_span_alone:
            last = last.before
        values = last.context(self.former) if last is not None else self.former.get_current()
        return len(values) > (SPAN_KEY in values)

    def get_current(self) -> Context:
        """The current context, with what is active now as its span."""
        last = _attached.get()
        former_entry = current.get()
        if last is not None and former_entry is last.entry and (former_entry is None or type(former_entry) is Arrival):
            return last.context(self.former)
        active = visible(former_entry)
        if last is not None and active is last.entry and active is not None:
            return last.context(self.former)
        values = last.context(self.former) if last is not None else self.former.get_current()
        if active is None:
            return _without_span(values) if SPAN_KEY in values else values
        made = _made.get()
        if made is not None and made[0] is active and made[1] is values:
            return made[2]
        span = active if isinstance(active, Span) and hasattr(active, "get_span_context") else SpanProxy(active)
        context = Context({**values, SPAN_KEY: span})
        switch(_made, (active, values, context))
        return context


def visible(former_entry: Any) -> Any:
    """The current span for OpenTelemetry: the active one, or one that was carried over from another thread."""
    active = active_span(former_entry)
    if active is None and former_entry is not None and former_entry.is_recorded and former_entry.age() == _ALWAYS:
        return former_entry
    return active


def enclosing(former_entry: Any) -> Any:
    """The active span, even if a context that was attached since hides it; None for none."""
    return active_span(former_entry) or active_span(getattr(former_entry, "hidden", None))


def entry_of(span: Any) -> Any:
    """The entry in swagent's variable for the span of a context; None for none."""
    if span is None or span is INVALID_SPAN:
        return None
    if isinstance(span, Span):
        return span
    if isinstance(span, SpanProxy):
        return span.entry
    arrival = Arrival(None, span)
    return arrival if arrival.carrier is not None or arrival.is_recorded else None


def _without_span(values: Context) -> Context:
    return Context({key: value for key, value in values.items() if key != SPAN_KEY})
