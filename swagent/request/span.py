"""The span of a request, where one is needed: for a child, a tag, an outgoing header, an error."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from ..acceleration import native
from ..record.limits import MAX_TAGS
from ..record.suppression import suppress_instrumentation
from ..record.trace.carrier import Carrier
from ..record.trace.context import current
from ..record.trace.ids import ids_of
from ..record.trace.model import Component, Layer, SpanKind, SpanRecord
from ..record.trace.segment import NO_CORRELATION, Segment
from ..record.trace.single_span import SpanTemplate
from ..record.trace.span import Span
from ..record.trace.traceparent import Traceparent
from ..record.trace.tracer import Tracer
from .description import PEERS, TEMPLATES, admit, admit_name, describe, name_by_path, name_so_far, parameters_tag
from .facts import UNMATCHED, WEBSOCKET, Facts
from .faults import Faults
from .scope import Scope
from .split_times import Clock


class Request(Protocol):
    """A request as its span sees it. The request makes its span, so it imports this module, and not the reverse."""

    @property
    def tracer(self) -> Tracer:
        """The tracer that records the request."""
        ...

    @property
    def number(self) -> int:
        """The number from which the ids of the segment are made."""
        ...

    @property
    def start_time(self) -> float:
        """When the request began, by the monotonic clock."""
        ...

    @property
    def clock(self) -> Clock | None:
        """The split of its time; None: its time is not split."""
        ...

    @property
    def scope(self) -> Scope:
        """The scope; empty after the end."""
        ...

    @property
    def faults(self) -> Faults:
        """Where errors of the agent are counted."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the request has ended."""
        ...

    def facts(self) -> Facts:
        """The facts as far as they are known now."""
        ...

    def operation_parts(self) -> tuple[str, str, str | None]:
        """Method, path and template, as far as they are known now."""
        ...

    def end(self, facts: Facts | None) -> None:
        """End with the span, now.

        :param facts: those by which the span was described; None: it was not described by this end
        """
        ...

    def runs_here(self) -> bool:
        """Whether the current task is the one that serves the request."""
        ...


class _Over:
    """In the place of a request that is over. The request holds its span, so the span lets go of the request: then
    neither is left to the garbage collector."""

    ended = True
    clock = None
    scope: Scope = {}  # noqa: RUF012, RUF100  (never written)

    def runs_here(self) -> bool:
        """No task serves it any more."""
        return False


_OVER: Any = _Over()


class RequestSpan(Span):
    """The entry span of one http or websocket scope. `PendingRequest.to_span` makes it. It is named and tagged at its
    end, when the framework has chosen the route."""

    __slots__ = ("_facts", "in_parts", "pending")

    def __init__(
        self,
        pending: Request,
        method: str,
        path: str,
        carrier: Carrier | Traceparent | None,
        correlation: dict[str, str] | None,
    ) -> None:
        """
        :param method: a known one
        :param path: as it was requested
        """
        name = name_by_path(method, path)
        client: Any = pending.scope.get("client")
        peer = PEERS[tuple(client)] if client else ""
        super().__init__(name, SpanKind.ENTRY, peer, Layer.HTTP, Component.PYTHON, carrier, correlation, pending.tracer)
        self.pending = pending
        self.in_parts = method is WEBSOCKET
        self._facts: Facts | None = None
        self.epoch = time.time() - time.monotonic()
        self.start_time = self.epoch + pending.start_time

    def name_tasks_by(self, name_task: Callable[[SpanRecord], None]) -> None:
        """Add to each span of the segment the task that began it.

        :param name_task: called with each span that joins the segment; must not raise
        """
        if self.segment is not None:
            self.segment.on_join = name_task

    def open(self, live: Span | None, source: Any) -> None:
        """Open its segment, unless this trace is not recorded."""
        self._open(live, source)

    def discard(self) -> None:
        """Record nothing: the request has ended without this span."""
        segment, self.segment = self.segment, None
        if segment is not None:
            segment.discard()

    def stop(self) -> None:
        """End now. A second stop does nothing."""
        pending = self.pending
        if not pending.ended:
            self._facts = None
            super().stop()
            facts, self._facts = self._facts, None
            pending.end(facts)
            self.pending = _OVER

    def prepare_end(self) -> bool:
        """Name it and tag it by the facts of now. False: it has ended."""
        segment, pending = self.segment, self.pending
        if segment is None or self.ended:
            return False
        try:
            facts = self._facts = pending.facts()
            described = describe(facts, segment.tracer.real_path)
            self.name = admit(described, facts, segment.tracer.endpoints)
            self.component = described.component
            self.failed = self.failed or described.failed
            tags, tracer = described.tags, segment.tracer
            if described.component in tracer.parameters_of:
                tags = (*tags, *parameters_tag(pending.scope.get("query_string", b""), tracer.parameters_length))
            clock = pending.clock
            if clock is not None:
                times = clock.stop(time.monotonic())
                tags = (*tags, *(times.tags() if times is not None else ()), *clock.more_tags())
            self.tags = [*tags, *self.tags[: MAX_TAGS - len(tags)]]
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
            pending.faults.note("describing a request", error)
        return True

    def name_now(self) -> str:
        """The name of the operation as far as it is known now. The application calls it too, through `headers()`."""
        segment = self.segment
        if self.ended or segment is None:
            return self.name
        try:
            method, path, template = self.pending.operation_parts()
            return admit_name(name_so_far(method, path, template), method, template, segment.tracer.endpoints)
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no call)
            self.pending.faults.note("describing a request", error)
            return self.name

    def runs_here(self) -> bool:
        """Whether the current task is the one that serves the request. Another task may have opened this span."""
        return self.pending.runs_here()

    def _new_segment(self, tracer: Tracer, trace_id: str | None) -> Segment:
        own = ids_of(self.pending.number)
        return Segment(tracer, self, trace_id or own[0], own[1], in_parts=self.in_parts)


if native is not None:
    native.configure_request_slots(RequestSpan, SpanTemplate)
    native.configure_request_spans(
        namespace=globals(),
        current=current,
        suppressed=suppress_instrumentation,
        peers=PEERS,
        templates=TEMPLATES,
        unmatched=UNMATCHED,
        over=_OVER,
        entry=SpanKind.ENTRY,
        layer=Layer.HTTP,
        component=Component.PYTHON,
        no_correlation=NO_CORRELATION,
    )
