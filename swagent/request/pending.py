"""A request while it is served, as long as it needs no span.

The context variable holds it in the place of a span. It notes when the request began, which status was sent and when
the request ended. Most requests need no more: their facts go to the intake, which makes the span. The trace's id, a log
record or an incoming header change nothing. A child, a tag or an outgoing header needs a span: an explicit step,
`to_span`, opens the segment, and from then on the request is that span.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from ..record.suppression import suppress_instrumentation
from ..record.trace.carrier import Carrier, parse_sw8
from ..record.trace.context import Active, active_span, current, nearest_open, switch
from ..record.trace.ids import segment_id_of, trace_id_of
from ..record.trace.model import Origin, PendingOrigin, Reference, RefKind, SpanKind
from ..record.trace.span import Span, parent_link
from ..record.trace.traceparent import Traceparent
from .description import name_by_path, name_so_far
from .facts import OTHER, Facts
from .scope import read_carrier, read_facts, read_headers, read_operation, read_target, read_traceparent
from .serving import is_served_here
from .span import RequestSpan
from .state import NOTHING, UNREAD, UNREADABLE, ChosenState, RequestState
from .state import Following as Following


class PendingRequest(ChosenState):
    """One http or websocket scope."""

    __slots__ = ()
    frame = None
    kind = SpanKind.ENTRY

    def __deepcopy__(self, _memo: object) -> PendingRequest:
        # the copy of an application's object that leads here, such as its `send`, leads to the same request
        return self

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def trace_id(self) -> str:
        """The trace's id; empty when the trace is not recorded."""
        return self.find_trace_id()

    def find_trace_id(self) -> str:
        """As `trace_id`, and cheaper: each log record needs it."""
        if self.span is None:
            found = self._trace_id
            if found is not None:
                return found
            try:
                caller = self._read_caller() if self._caller is UNREAD else self._caller
                found = trace_id_of(self.number) if caller is None else self._callers_trace_id(caller)
            except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows)
                self.faults.note("reading the headers of a request", error)
                found = trace_id_of(self.number)
            self._trace_id = found
            # reading it may have opened the span
            if self.span is None:
                return found
        return self.span.trace_id

    def _callers_trace_id(self, caller: bytes) -> str:
        carrier = parse_sw8(caller)
        if carrier is None:
            return trace_id_of(self.number)
        return carrier.trace_id if carrier.sampled else ""

    def _read_caller(self) -> bytes | None:
        """The header `sw8`. If the caller sent its trace in another header, this opens the span: that is rare, so the
        fast path does not handle it.

        :raises Exception: whatever comes of a scope that is not of the ASGI specification
        """
        self._host, caller, is_traced_otherwise = read_headers(self.scope)
        return self._judge(caller, is_traced_otherwise)

    def _judge(self, caller: bytes | None, is_traced_otherwise: bool) -> bytes | None:
        """As `_read_caller`, for headers that have been read."""
        if caller is not None and not self.tracer.trusts(self.scope):
            caller = None
        self._caller = caller
        if is_traced_otherwise and caller is None and self.tracer.traceparent:
            self.to_span()
        return caller

    def reference(self) -> Reference | None:
        """How another segment of this process refers to it; None when the trace is not recorded."""
        if self.span is not None:
            return self.span.reference()
        noted, tracer = self.note_origin(), self.tracer
        origin = noted if noted is None or isinstance(noted, tuple) else noted.late_origin()
        if origin is None:
            return None
        endpoint, trace_id, segment_id, span_id = origin
        return Reference(RefKind.CROSS_THREAD, trace_id, segment_id, span_id, tracer.service, tracer.instance,
                         endpoint, "")  # fmt: skip

    def note_origin(self) -> Origin | PendingOrigin | None:
        """The origin of a log record that is logged here; or the request itself, which answers later, by
        `late_origin`."""
        if self._trace_id is None:
            # now, because this may open the span
            self.find_trace_id()
        return self if self.span is None else self.span.note_origin()

    def late_origin(self) -> Origin | None:
        """The origin of a record that was logged while the request had no span; None when the trace is not
        recorded."""
        trace_id, tracer = self._trace_id, self.tracer
        if not trace_id:
            return None
        method, path, template = self.operation_parts()
        if (not tracer.ignores_dots_only or "." in path) and tracer.is_ignored(name_by_path(method, path)):
            return None
        return name_so_far(method, path, template), trace_id, segment_id_of(self.number), 0

    def operation(self) -> tuple[str, bool]:
        """The name of its operation as far as it is known now, and whether its route is known."""
        method, path, template = self.operation_parts()
        return name_so_far(method, path, template), template is not None

    def operation_parts(self) -> tuple[str, str, str | None]:
        """Method, path and template, as far as they are known now."""
        if self._facts is None:
            try:
                return read_operation(self.scope, self.status, self.faults)
            except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows)
                self.faults.note("reading a request", error)
        # not by name, which would need Facts
        method, _, _, path, template, _, _ = self._facts or self.facts()
        return method, path, template

    def carried(self) -> dict[str, str]:
        """The correlation that travels with the trace."""
        return dict(self.span.carried()) if self.span is not None else {}

    @property
    def is_recorded(self) -> bool:
        """Whether the trace is recorded."""
        return self.reference() is not None

    def age(self) -> float:
        """Seconds since the end."""
        return monotonic() - self.end_time

    def to_span(self) -> RequestSpan | None:
        """The span of this request, whose segment is open from now on. None: the request has ended without a span."""
        if self.span is None and not self.ended:
            self._open(None, None)
        return self.span

    # -- the end ------------------------------------------------------------------------------------------------------

    _finish_otherwise = RequestState.finish
    """The end of a request that is unusual, for the accelerator."""

    def end(self, facts: Facts | None) -> None:
        """End with the span, which has ended now.

        :param facts: those by which the span was described; None: it was not described by this end
        """
        if self.previous is not None:
            self.previous = nearest_open(self.previous)
        now = self.end_time = monotonic()
        if self.clock is not None:
            self.clock.stop(now)
        self.ended = True
        self._facts = facts or self._read()
        self.scope = NOTHING

    def leave(self) -> None:
        """Be active no longer: the server may serve its next request in the same context."""
        if current.get() is self:
            switch(current, self.previous)

    def runs_here(self) -> bool:
        """Whether the current task is the one that serves the request."""
        # where Python times the steps, the stack ends before the middleware while an exception is thrown in
        return self.is_stepped_here() or is_served_here(self) or (self.clock is not None and self.clock.throws_here())

    # -- opening ------------------------------------------------------------------------------------------------------

    def _open_among(self, inherited: Active[Span] | None) -> None:
        """Open at once, if not the request alone decides whether it is recorded."""
        watch = self.tracer.request_watch
        if watch is not None:
            watch(self)
            if inherited is None and self.tracer.may_decide_late and not suppress_instrumentation.get():
                return
        entry = active_span(inherited)
        live = entry.to_span() if entry is not None else None
        source = live or parent_link(inherited, SpanKind.ENTRY)
        self.previous = nearest_open(inherited) or source
        self._open(live, source)

    def _open(self, live: Span | None, source: Active[Span] | None) -> None:
        carrier, correlation = self._find_carrier()
        method, path, is_readable = OTHER, OTHER, True
        try:
            # its route is not known before the end, and nothing else is needed here
            method, path = read_target(self.scope)
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
            self.faults.note("reading a request", error)
            is_readable = False
        with self.tracer.lock:
            if self.span is not None or self.ended:
                return
            try:
                span = RequestSpan(self, method, path, carrier, correlation)
                if is_readable:
                    span.open(live, source)
            except Exception as error:  # noqa: BLE001, RUF100  (as above)
                self.faults.note("opening the span of a request", error)
                return
            # no call in between: another thread may end the request
            if not self.ended:
                self.span = span
                return
            span.discard()

    def _find_carrier(self) -> tuple[Carrier | Traceparent | None, dict[str, str] | None]:
        """The caller's context and its correlation, where it sent one that is trusted."""
        carrier: Carrier | Traceparent | None = None
        correlation = None
        try:
            caller, is_traced_otherwise = self._caller, True
            if caller is UNREAD:
                # as in `_read_caller`, which may open the span
                self._host, caller, is_traced_otherwise = read_headers(self.scope)
                if caller is not None and not self.tracer.trusts(self.scope):
                    caller = None
                self._caller = caller
            if caller is not None:
                carrier, correlation = read_carrier(self.scope, caller, self.tracer)
            if carrier is None and is_traced_otherwise:
                carrier = read_traceparent(self.scope, self.tracer)
        except Exception as error:  # noqa: BLE001, RUF100  (ours, and the application may have made this call)
            self.faults.note("opening the span of a request", error)
        return carrier, correlation

    def _read(self) -> tuple[Any, ...]:
        try:
            host = read_headers(self.scope)[0] if self._caller is UNREAD else self._host
            return read_facts(self.scope, host, self.status, self.faults)
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
            self.faults.note("reading a request", error)
            return UNREADABLE

    def facts(self) -> Facts:
        """The facts of the request as far as they are known now."""
        facts = self._facts if self._facts is not None else self._read()
        return UNREADABLE if facts is UNREADABLE else Facts(*facts)

    def __repr__(self) -> str:
        state = "ended" if self.ended else "opened" if self.span is not None else "pending"
        return f"<PendingRequest {self.number} {state}>"
