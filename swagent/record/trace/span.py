"""A span while it is open: its place in a segment, what it records, and where it goes when it ends.

Starting, a span finds its place in one of four ways:

1. Inside a live span of an open segment it joins that segment as a child.
2. An entry span, or a span with nothing live around it, opens a segment. It refers to the carrier of the request, or to
   the span that its context was left with (a task that outlives its request), or begins a trace.
3. Under a span that is not recorded (ignored, unsampled, no agent running) it is not recorded either.
4. Where the segment has no room for it, the segment finds it a place that refers to its parent (see `segment.py`).

Nothing here raises into the application, and an exception of the application always goes on its way.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from ...acceleration import native
from ..cardinality import CardinalityLimit
from ..limits import MAX_LOGS, MAX_TAGS, as_text, describe, short
from ..suppression import suppress_instrumentation
from .carrier import Carrier
from .context import Active, active_span, collection, current, nearest_open, switch
from .headers import PLACES, share_headers, write_headers
from .model import Component, Layer, Origin, Reference, RefKind, SpanKind, SpanLog, origin_of
from .outcome import Outcome, name_of_task, outcome_of, running_task
from .segment import NO_CORRELATION, Segment
from .traceparent import Traceparent
from .tracer import Tracer, running

if TYPE_CHECKING:
    from typing_extensions import Self


# Looking up a member in its enum takes longer than most lines here.
_ENTRY, _EXIT, _LOCAL = SpanKind.ENTRY, SpanKind.EXIT, SpanKind.LOCAL
_GENERATOR = 0x20 | 0x200  # CO_GENERATOR | CO_ASYNC_GENERATOR, see inspect
# A worker that starts lazily inside a request keeps that request's context for ever; its later work is not part of it.
_CONTINUED_FOR = 60.0


class Span:
    """One operation. Use it as a context manager, or `start()` and `stop()` it; from any task or thread."""

    __slots__ = (
        "__weakref__",
        "_tracer",
        "carrier",
        "component",
        "correlation",
        "end_time",
        "ended",
        "epoch",
        "failed",
        "frame",
        "id",
        "kind",
        "layer",
        "logs",
        "name",
        "parent_id",
        "peer",
        "previous",
        "refs",
        "segment",
        "start_time",
        "tags",
        "task",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        kind: SpanKind,
        peer: str = "",
        layer: int = Layer.UNKNOWN,
        component: int = Component.UNKNOWN,
        carrier: Carrier | Traceparent | None = None,
        correlation: dict[str, str] | None = None,
        tracer: Tracer | None = None,
        tags: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """
        :param name: as `name_of` gives it
        :param peer: as `address_of` gives it; may be set later, until the span ends
        :param tags: short texts
        """
        self.name = name
        self.kind = kind
        self.peer = peer
        self.layer = layer
        self.component = component
        self.carrier = carrier
        self.correlation = correlation
        self.segment: Segment | None = None
        self.id = -1
        self.parent_id = -1
        self.refs: Sequence[Reference] = ()
        self.tags: list[tuple[str, str]] = [*tags]
        self.logs: list[SpanLog] = []
        self.failed = False
        self.ended = False
        self.start_time = 0.0
        self.end_time = 0.0
        self.epoch = 0.0
        self.previous: Active[Span] | None = None
        self.frame: FrameType | None = None
        self.task = 0
        self._tracer = tracer

    # -- life ---------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Begin now and become the active span of this context. A second start does nothing."""
        if self.start_time:
            return self
        inherited = current.get()
        if inherited is None:  # as in every request
            self._set_clock()
            self._open(None, None)
        elif inherited.ended or inherited.frame is not None or self.kind is _ENTRY:
            self._begin(inherited)
        else:  # as in every call that a request makes: what it inherits is open, and shut in no generator
            live = inherited.to_span()
            if live is None:
                self._begin(inherited)
            else:
                self._begin_in(live, inherited)
        # as in `switch`, without the call
        if not collection.thread:
            current.set(self)
        else:
            switch(current, self)
        return self

    def start_below(self, parent: Active[Span] | None, at: float | None = None) -> Self:
        """Begin below a parent, and do not become active. A second start does nothing.

        :param parent: what a context holds: a span, a request, a snapshot; None for none
        :param at: when it began, in seconds since the epoch; now, when left out
        """
        if self.start_time:
            return self
        if parent is None:
            self._set_clock()
            self._open(None, None)
        else:
            self._begin(parent)
        if at is not None:
            self.start_time = at
        return self

    def _begin(self, inherited: Active[Span]) -> None:
        """Begin below what a context holds."""
        entry = active_span(inherited)
        live = entry.to_span() if entry is not None else None
        # The entry that is active again when this span ends: the one that is open here, even in a suspended generator,
        # or the one that the next span continues. No other is kept, or a long-lived task would hold every span that it
        # ever had.
        previous = nearest_open(inherited)
        if live is not None and self.kind is not _ENTRY:
            self._begin_in(live, previous or live)
            return
        self._set_clock()
        source = live or parent_link(inherited, self.kind)
        self.previous = previous or source
        self._open(live, source)

    def _begin_in(self, live: Span, previous: Active[Span]) -> None:
        """Begin as a child, in the segment of an open span."""
        segment = live.segment
        epoch = self.epoch = live.epoch
        self.start_time = epoch + time.monotonic()
        self.previous = previous
        if segment is not None and not segment.join(self, live):
            # the segment has gone, or has no room and only the parent to refer to
            self._open(None, live)

    def stop(self) -> None:
        """End now. A second stop does nothing."""
        self.stop_at(self.epoch + time.monotonic())

    _stop_otherwise = stop
    """The end of a span that is unusual, for the accelerator."""

    def stop_at(self, end_time: float) -> None:
        """End at a time that is known, in seconds since the epoch. A second stop does nothing."""
        if self.ended or not self.start_time:
            return
        self.frame = None
        previous = self.previous
        if current.get() is self:
            # as in `switch`, without the call
            if not collection.thread:
                current.set(previous)
            else:
                switch(current, previous)
        if previous is not None and previous.ended:
            self.previous = nearest_open(previous)
        segment = self.segment
        if segment is None:
            self.end_time = end_time
            self.ended = True
        elif self.prepare_end():
            segment.leave(self, end_time)

    def step_aside(self) -> None:
        """Stay open, and be the active span of this context no longer: what begins here next is not below it."""
        if not self.ended and current.get() is self:
            switch(current, self.previous)
            self.previous = None

    def prepare_end(self) -> bool:
        """Settle its name and its peer, within the limits of how many there may be. False: it has ended."""
        segment = self.segment
        if segment is None or self.ended:
            return False
        if self.kind is _EXIT:
            peers = segment.tracer.peers
            if self.peer not in peers.known and self.peer:
                self.peer = peers.keep(self.peer)
        elif self.kind is _ENTRY:
            self.name = segment.tracer.endpoints.keep(self.name)
        return True

    def __del__(self) -> None:
        # It cannot be ended any more, but what it has recorded is still there. Half made, it has recorded nothing.
        try:
            is_lost = not self.ended and self.segment is not None
        except AttributeError:
            return
        if is_lost:
            self._give_up()

    def _give_up(self) -> None:
        with suppress(Exception):
            if self.segment is not None:
                self.segment.give_up(self)

    def __enter__(self) -> Self:
        caller = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  (the way to the caller's frame)
        if caller.f_code.co_flags & _GENERATOR:
            self.frame = caller
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.note_outcome(error)
        self.stop()

    def _set_clock(self) -> None:
        """Start the span's clock. The wall clock is read by the first span of a segment only: set while the segment
        is open, it would let spans end before they begin, or lie outside of their parents."""
        now = self.start_time = time.time()
        self.epoch = now - time.monotonic()

    def name_now(self) -> str:
        """Its name as the collector will see it, if it ends now."""
        name, segment = self.name, self.segment
        if self.kind is not _ENTRY or self.ended or segment is None:
            return name
        endpoints = segment.tracer.endpoints
        return name if name in endpoints.known else endpoints.keep(name)

    def now(self) -> float:
        """The time by the span's own clock, in seconds since the epoch; it only goes forwards."""
        return self.epoch + time.monotonic()

    def _open(self, live: Span | None, source: Active[Span] | None) -> None:
        """Open a segment, unless this trace is not recorded.

        :param source: what the segment continues if there is no carrier: the live span, or what `parent_link` found
        """
        # if the application's own instrumentation wraps a library that the agent sends with, each report would be
        # recorded and cause the next report
        if not suppress_instrumentation.get():
            self._open_segment(live, source)

    def _open_segment(self, live: Span | None, source: Active[Span] | None) -> None:
        tracer = self._tracer or running()
        suppressed = live is not None and live.segment is None and self.carrier is None
        if tracer is None or suppressed or tracer.is_ignored(self.name):
            return
        carrier = self.carrier
        if carrier is not None and not carrier.sampled:
            return
        forced = carrier.is_recorded if isinstance(carrier, Traceparent) else bool(carrier or source)
        if not tracer.samples(forced):
            return
        if isinstance(carrier, Traceparent):
            segment = self._continue_trace(tracer, carrier)
        else:
            reference = None
            if carrier is not None:
                reference = _reference_to(carrier)
            elif source is not None:
                reference = source.reference()
            segment = self._new_segment(tracer, reference.trace_id if reference is not None else None)
            if reference is not None:
                self.refs = (reference,)
        if self.correlation:
            segment.correlation = self.correlation
        elif source is not None and carrier is None:
            segment.correlation = source.carried()
        self.id = 0
        self.segment = segment

    def _continue_trace(self, tracer: Tracer, caller: Traceparent) -> Segment:
        """Take over a trace's id from a caller that a reference would describe in part only."""
        segment = self._new_segment(tracer, caller.trace_id)
        segment.tracestate = caller.state
        self.tags.append(("traceparent", str(caller)))
        return segment

    def _new_segment(self, tracer: Tracer, trace_id: str | None) -> Segment:
        # only its identity: a span that outlives its task must not hold the task
        self.task = id(running_task())
        return Segment(tracer, self, trace_id)

    # -- what it records ----------------------------------------------------------------------------------------------

    @property
    def is_recorded(self) -> bool:
        """Whether this span itself will be seen at the collector."""
        return self.segment is not None

    @property
    def trace_id(self) -> str:
        """The trace's id; empty when the trace is not recorded."""
        return self.segment.trace_id if self.segment is not None else ""

    def find_trace_id(self) -> str:
        """As `trace_id`."""
        return self.trace_id

    @property
    def segment_id(self) -> str:
        """The segment's id; empty when the trace is not recorded."""
        return self.segment.reference(self).segment_id if self.segment is not None else ""

    def tag(self, key: str, value: object) -> Self:
        """Add a tag. Values become text, shortened visibly beyond 2 KiB; tags beyond 128 are dropped, and the segment
        is marked.
        """
        if self.ended or not self.is_recorded:
            return self
        if len(self.tags) < MAX_TAGS:
            self.tags.append((short(as_text(key)), short(as_text(value))))
        elif self.segment is not None:
            self.segment.note_limit()
        return self

    def log(self, /, **fields: object) -> Self:
        """Add a log entry with the time of now, of 128 fields at most."""
        if self.ended or not self.is_recorded:
            return self
        has_room = len(self.logs) < MAX_LOGS
        if self.segment is not None and (not has_room or len(fields) > MAX_TAGS):
            self.segment.note_limit()
        if has_room:
            kept = list(fields.items())[:MAX_TAGS]
            self.logs.append((self.now(), [(short(as_text(key)), short(as_text(value))) for key, value in kept]))
        return self

    def error(self, error: BaseException | None = None) -> Self:
        """Mark the operation as failed; with an exception, log its kind, message and stack (no local values)."""
        if not self.ended and self.is_recorded:
            self.failed = True
            if error is not None:
                self.log(**{"event": "error", **describe(error)})
        return self

    def note_outcome(self, error: BaseException) -> None:
        """Note how the operation ended, by the exception that left it: as failed, cancelled or timed out; for the last
        two, also in which task."""
        outcome = outcome_of(error)
        if outcome is Outcome.FAILED:
            self.error(error)
        elif outcome is not Outcome.OK:
            self.tag_outcome(outcome)
            if outcome is Outcome.TIMED_OUT and isinstance(error, Exception):
                self.log(**{"event": "error", **describe(error)})

    def tag_outcome(self, outcome: Outcome) -> None:
        """Tag an operation that was cancelled or timed out, unless it has failed already."""
        segment = self.segment
        if segment is None or self.ended or self.failed:
            return
        tags = [("outcome", outcome.value)]
        root = segment.root
        if root is not self and not (root is not None and root.runs_here()):
            is_named = any(key == "task" for key, _ in self.tags)
            name = name_of_task(running_task()) if not is_named else ""
            tags += [("task", name)] if name else []
        # in front, where they always have room
        if len(self.tags) + len(tags) > MAX_TAGS:
            segment.note_limit()
        self.tags = [*tags, *self.tags[: MAX_TAGS - len(tags)]]

    def runs_here(self) -> bool:
        """Whether a span that opened a segment was begun by the task that runs now."""
        return self.task == id(running_task())

    # -- what it hands on ---------------------------------------------------------------------------------------------

    def headers(self) -> dict[str, str]:
        """The headers that carry this context to the peer; empty when the trace is not recorded or the peer may not get
        it. The peer then begins a trace of its own, as every SkyWalking agent does without a header.
        """
        return self.headers_for(self.peer)

    def headers_for(self, peer: str) -> dict[str, str]:
        """As `headers`, for another peer than its own: after a redirect, say.

        :param peer: as `address_of` gives it
        """
        segment = self.segment
        if segment is None:
            return {}
        tracer = segment.tracer
        if tracer.propagates_to_few and not tracer.propagates_to(peer):
            return {}
        return write_headers(segment.leaving(self), tracer, peer)

    _headers_otherwise = headers_for
    """The headers of what is unusual, for the accelerator."""

    def refer_to(self, reference: Reference) -> None:
        """Add a reference to another cause of this operation, such as another message of a batch."""
        if not self.ended and self.segment is not None and reference not in self.refs:
            self.refs = (*self.refs, reference)

    def reference(self) -> Reference | None:
        """How another segment of this process refers to this span."""
        return self.segment.reference(self) if self.segment is not None else None

    def note_origin(self) -> Origin | None:
        """The origin of a log record that is logged inside this span; None when the trace is not recorded."""
        return origin_of(self.reference())

    def carried(self) -> Mapping[str, str]:
        """The correlation that travels with the trace."""
        return self.segment.correlation if self.segment is not None else {}

    def to_span(self) -> Span:
        """The span itself. Other objects that a context holds create their span here."""
        return self

    def age(self) -> float:
        """Seconds since it ended."""
        return self.now() - self.end_time

    def __repr__(self) -> str:
        state = "ended" if self.ended else "open" if self.start_time else "new"
        return f"<Span {self.kind.name.lower()} {self.name!r} {self.trace_id or 'not recorded'}:{self.id} {state}>"


def _reference_to(carrier: Carrier) -> Reference:
    return Reference(RefKind.CROSS_PROCESS, *carrier[1:])


def parent_link(inherited: Active[Span] | None, kind: SpanKind) -> Active[Span] | None:
    """The parent of a span with nothing live around it: the past span or the snapshot in its context, if recent."""
    if inherited is None or not inherited.ended or not inherited.is_recorded:
        return None
    if inherited.age() == -math.inf:  # a snapshot: carried over on purpose
        return inherited
    # a request that comes in is no part of the one before it, which a consumer's loop may still have in its context
    is_recent = kind is not _ENTRY and inherited.age() <= _CONTINUED_FOR
    return inherited if is_recent else None


def joined_entry(entry: Active[Span] | None) -> Active[Span] | None:
    """The entry whose trace goes on in a context: the active one, or the one that the next local span continues.

    :param entry: what the context holds
    """
    return active_span(entry) or parent_link(entry, _LOCAL)


def active_entry() -> Active[Span] | None:
    """The active span, or the request that may become one. Where none is open: what the next local span continues."""
    entry = current.get()
    # most are open, and were not entered in a generator: this check takes no call
    if entry is not None and (entry.ended or entry.frame is not None):
        entry = joined_entry(entry)
    return entry


if native is not None:
    # from here on the accelerator has `stop`, `headers_for` and `__del__`, for all that is usual
    native.configure_slots(span_type=Span, segment_type=Segment, tracer_type=Tracer, limit_type=CardinalityLimit)
    native.configure_headers(no_correlation=NO_CORRELATION, places=PLACES, share=share_headers)
    native.configure_spans(current=current, collection=collection, entry=_ENTRY, exit_=_EXIT)
