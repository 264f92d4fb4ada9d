"""The span of a request that somebody needed: a child, a tag, a header to send, an error."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..record.limits import MAX_TAGS
from ..record.trace.carrier import Carrier
from ..record.trace.context import nearest_open
from ..record.trace.ids import ids_of
from ..record.trace.model import Component, Layer, SpanKind
from ..record.trace.outcome import running_task
from ..record.trace.segment import Segment
from ..record.trace.span import Span
from ..record.trace.traceparent import Traceparent
from ..record.trace.tracer import Tracer
from .description import PEERS, admit, describe, name_by_path, parameters_tag
from .facts import WEBSOCKET, Facts

if TYPE_CHECKING:
    from ..profile.request_clock import RequestClock
    from .pending import PendingRequest


class RequestSpan(Span):
    """The entry span of one http or websocket scope. It is made of its request by `PendingRequest.to_span`, and named
    and tagged at its end, when frameworks have said which route it took.

    :ivar clock: of a request whose time is split
    """

    __slots__ = ("clock", "pending")

    def __init__(
        self,
        pending: PendingRequest,
        facts: Facts,
        carrier: Carrier | Traceparent | None,
        correlation: dict[str, str] | None,
    ) -> None:
        name = name_by_path(facts.method, facts.path)
        client: Any = pending.scope.get("client")
        peer = PEERS[tuple(client)] if client else ""
        super().__init__(name, SpanKind.ENTRY, peer, Layer.HTTP, Component.PYTHON, carrier, correlation, pending.tracer)
        self.pending = pending
        self.clock: RequestClock | None = None
        self.epoch = time.time() - time.monotonic()
        self.start_time = self.epoch + pending.start_time

    def time_by(self, clock: RequestClock) -> None:
        """Tell at the end where the time went, and by each span below in which task it was begun."""
        self.clock = clock
        self.task = id(running_task())
        if self.segment is not None:
            self.segment.on_join = clock.tasks.name_task

    def open(self, live: Span | None, source: Any) -> None:
        """Open its segment, unless this trace is not recorded."""
        self._open(live, source)

    def discard(self) -> None:
        """Let nothing come of it: the request went without it."""
        segment, self.segment = self.segment, None
        if segment is not None:
            segment.discard()

    def stop(self) -> None:
        """End now. A second stop does nothing."""
        pending = self.pending
        if not pending.ended:
            super().stop()
            if pending.previous is not None:
                pending.previous = nearest_open(pending.previous)
            pending.end_time = time.monotonic()
            pending.ended = True
            pending.forget()

    def prepare_end(self) -> bool:
        """Name it and tag it, with what is known now. False: it has ended."""
        segment, pending = self.segment, self.pending
        if segment is None or self.ended:
            return False
        try:
            facts = pending.facts()
            described = describe(facts, segment.tracer.real_path)
            self.name = admit(described, facts, segment.tracer.endpoints)
            self.component = described.component
            self.failed = self.failed or described.failed
            tags, tracer = described.tags, segment.tracer
            if described.component in tracer.parameters_of:
                tags = (*tags, *parameters_tag(pending.scope.get("query_string", b""), tracer.parameters_length))
            if self.clock is not None:
                tags = (*tags, *self.clock.tags())
            self.tags = [*tags, *self.tags[: MAX_TAGS - len(tags)]]
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
            pending.faults.note("describing a request", error)
        return True

    def name_now(self) -> str:
        """The operation's name as far as it is known by now. The application calls it too, through `headers()`."""
        segment = self.segment
        if self.ended or segment is None:
            return self.name
        facts = self.pending.facts()
        return admit(describe(facts), facts, segment.tracer.endpoints)

    def runs_here(self) -> bool:
        """Whether the task that runs now is the one that serves the request: the middleware's call is below us then.
        Asked of the stack, since most requests never need to know their task. Where steps are timed, the stack ends
        before the middleware while an exception is thrown in."""
        if self.clock is not None:
            return super().runs_here()
        frame: FrameType | None = sys._getframe()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if frame.f_code.co_name == "__call__" and frame.f_locals.get("request") is self.pending:
                return True
            frame = frame.f_back
        return False

    def _new_segment(self, tracer: Tracer, trace_id: str | None) -> Segment:
        own = ids_of(self.pending.number)
        is_websocket = self.pending.facts().method is WEBSOCKET
        return Segment(tracer, self, trace_id or own[0], own[1], in_parts=is_websocket)
