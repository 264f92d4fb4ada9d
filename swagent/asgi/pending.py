"""A request while it is served, as long as nobody needs its span.

It stands in the context variable where a span would, and notes when the request began, which status was sent and when
it was over. Most requests end like that: their facts go to the intake, and their span is made there. Asking for the
trace's id, a log record, a header that came in change nothing. Who needs a span (for a child, a tag, a header to send)
takes an explicit step, `to_span`, which opens the segment; from then on the request is that span.
"""

from __future__ import annotations

import time
from typing import Any

from ..record.suppression import suppress_instrumentation
from ..record.trace.carrier import Carrier
from ..record.trace.context import active_span, current, nearest_open, switch
from ..record.trace.ids import ids_of, new_number
from ..record.trace.model import Component, Origin, Reference, RefKind, SpanKind
from ..record.trace.request import OTHER, Facts, describe, name_by_path
from ..record.trace.span import parent_link
from ..record.trace.traceparent import Traceparent
from ..record.trace.tracer import Tracer
from .faults import Faults
from .request import RequestSpan
from .scope import Scope, read_carrier, read_facts, read_traceparent

UNREADABLE = Facts(OTHER, "http", b"", OTHER, None, Component.PYTHON, 0)
_NOTHING: Scope = {}


class Following:
    """A response that is followed message by message.

    :ivar client_is_gone: whether the server said so
    """

    __slots__ = ("client_is_gone",)

    def __init__(self) -> None:
        self.client_is_gone = False


class PendingRequest:
    """One http or websocket scope.

    It holds neither the server's `send` nor, once it has ended, the scope. Servers leave timers behind that remember
    the context of the request, and so this, for as long as the connection is idle: all that it held would be kept, and
    the garbage collector called for it.

    :ivar status: of the response; 0 until it has begun
    :ivar span: once somebody has needed it
    :ivar previous: what was active before it
    :ivar following: what is known of a response that is more than a status and one body
    """

    __slots__ = ("_known", "end_time", "ended", "faults", "following", "number", "previous", "scope", "span",
                 "start_time", "status", "tracer")  # fmt: skip
    frame = None

    def __init__(self, tracer: Tracer, scope: Scope, faults: Faults) -> None:
        """Begins it, and makes it what is active in this context."""
        self.tracer = tracer
        self.scope = scope
        self.faults = faults
        self.number = new_number()
        self.status = 0
        self.ended = False
        self.span: RequestSpan | None = None
        self.following: Following | None = None
        self._known: tuple[Carrier | None, tuple[Any, ...]] | None = None
        inherited = current.get()
        if type(inherited) is PendingRequest and inherited.ended and inherited.previous is None:
            # the request before this one, in a server that keeps one context for a connection
            inherited = None
        self.previous: Any = inherited
        self.start_time: float = time.monotonic()
        # not by `switch`: no finaliser serves a request
        current.set(self)
        if inherited is not None or not tracer.decides_late or suppress_instrumentation.get():
            self._open_among(inherited)

    # -- what it is asked ---------------------------------------------------------------------------------------------

    @property
    def trace_id(self) -> str:
        """The trace's id; empty when the trace is not recorded."""
        if self.span is not None:
            return self.span.trace_id
        carrier = self.carrier
        if carrier is None:
            span = self._continue_trace()
            return ids_of(self.number)[0] if span is None else span.trace_id
        return carrier.trace_id if carrier.sampled else ""

    @property
    def carrier(self) -> Carrier | None:
        """The caller's context."""
        if self._known is not None:
            return self._known[0]
        try:
            # asked for first: most requests bring none
            has_one = b"sw8" in dict(self.scope["headers"])
            return read_carrier(self.scope, self.tracer)[0] if has_one else None
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows)
            self.faults.note("reading the headers of a request", error)
            return None

    def _continue_trace(self) -> RequestSpan | None:
        """The span, where the caller told its trace without `sw8`: most callers do not, so the fast path knows nothing
        of it."""
        try:
            if not self.tracer.traceparent or b"traceparent" not in dict(self.scope["headers"]):
                return None
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows)
            self.faults.note("reading the headers of a request", error)
            return None
        return self.to_span()

    def reference(self) -> Reference | None:
        """How another segment of this process refers to it; None when the trace is not recorded."""
        if self.span is not None:
            return self.span.reference()
        origin, tracer = self.origin(), self.tracer
        if origin is None:
            return None
        endpoint, trace_id, segment_id, span_id = origin
        return Reference(RefKind.CROSS_THREAD, trace_id, segment_id, span_id, tracer.service, tracer.instance,
                         endpoint, "")  # fmt: skip

    def origin(self) -> Origin | None:
        """Where a log record comes from that is logged here; None when the trace is not recorded."""
        if self.span is not None:
            return self.span.origin()
        trace_id, facts = self.trace_id, self.facts()
        if not trace_id or self._is_ignored(facts):
            return None
        return describe(facts).name, trace_id, ids_of(self.number)[1], 0

    def _is_ignored(self, facts: Facts) -> bool:
        return self.tracer.is_ignored(name_by_path(facts.method, facts.path))

    def carried(self) -> dict[str, str]:
        """What travels with the trace."""
        return dict(self.span.carried()) if self.span is not None else {}

    @property
    def is_recorded(self) -> bool:
        """Whether the trace is."""
        return self.reference() is not None

    def age(self) -> float:
        """Seconds since it ended."""
        return time.monotonic() - self.end_time

    def to_span(self) -> RequestSpan | None:
        """The span of this request, whose segment is open from now on. None: it has ended, so there will be none."""
        if self.span is None and not self.ended:
            self._open(None, None)
        return self.span

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """End now. It stays the active one: what the application does after its response belongs to the trace still.
        A second end does nothing."""
        scope, carrier, client = self.scope, None, None
        offer = self.tracer.offer_request
        if offer is None:
            self.to_span()
        if self.span is None and not self.ended:
            try:
                headers = dict(scope["headers"])
                facts = read_facts(scope, headers, self.status, self.faults)
                client = scope.get("client")
                if b"sw8" in headers:
                    carrier = self.carrier
                elif b"traceparent" in headers:
                    self._continue_trace()
            except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
                self.faults.note("reading a request", error)
                facts = UNREADABLE
            now = time.monotonic()
            # no call in these lines, so nothing comes between them: another thread may be opening it
            if self.span is None and not self.ended:
                self.end_time = now
                self.ended = True
                self._known = carrier, facts
                self.scope = _NOTHING
                if offer is not None and (carrier is None or carrier.sampled):
                    offer((self.number, self.start_time, now, client, carrier, *facts))
                return
        if self.span is not None:
            self.span.stop()

    def leave(self) -> None:
        """Be the active one no longer: the server may serve its next request in this very context."""
        if current.get() is self:
            switch(current, self.previous)

    # -- opening ------------------------------------------------------------------------------------------------------

    def _open_among(self, inherited: Any) -> None:
        """Open at once, where more than the request decides whether it is recorded."""
        entry = active_span(inherited)
        live = entry.to_span() if entry is not None else None
        source = live or parent_link(inherited, SpanKind.ENTRY)
        self.previous = nearest_open(inherited) or source
        self._open(live, source)

    def _open(self, live: Any, source: Any) -> None:
        facts = self.facts()
        carrier: Carrier | Traceparent | None = None
        correlation = None
        try:
            carrier, correlation = read_carrier(self.scope, self.tracer)
            if carrier is None:
                carrier = read_traceparent(self.scope, self.tracer)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, and the application may stand behind this call)
            self.faults.note("opening the span of a request", error)
        with self.tracer.lock:
            if self.span is not None or self.ended:
                return
            try:
                span = RequestSpan(self, facts, carrier, correlation)
                if facts is not UNREADABLE:
                    span.open(live, source)
            except Exception as error:  # noqa: BLE001, RUF100  (as above)
                self.faults.note("opening the span of a request", error)
                return
            # no call in between: another thread may be ending it
            if not self.ended:
                self.span = span
                return
            span.discard()

    def _read(self) -> tuple[Any, ...]:
        try:
            return read_facts(self.scope, dict(self.scope["headers"]), self.status, self.faults)
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
            self.faults.note("reading a request", error)
            return UNREADABLE

    def facts(self) -> Facts:
        """What is known of the request by now."""
        facts = self._known[1] if self._known is not None else self._read()
        return UNREADABLE if facts is UNREADABLE else Facts(*facts)

    def forget(self) -> None:
        """Let go of the scope; the request has ended."""
        self._known = None, self._read()
        self.scope = _NOTHING

    def __repr__(self) -> str:
        state = "ended" if self.ended else "opened" if self.span is not None else "pending"
        return f"<PendingRequest {self.number} {state}>"
