"""A segment: this process's part of a trace, made of the spans of one request or one unit of work.

Theory of operation
-------------------
A segment opens with its root, and is finished when the root and all other spans have ended. Spans may be begun and
ended by several tasks and threads that share a context; the tracer's lock keeps the count. A finished segment goes to
the pipeline, whole. No span may hold it up for ever, and none may be lost:

* **Open spans are held weakly.** One that cannot be ended any more is collected, and ends by that.
* **The root has ended and others are open.** They have a grace. Then the segment is sent as it is: its open spans end
  at that moment, with the tag `incomplete`. When the agent stops, this happens at once.
* **The root lives long** (a websocket, a stream, a job of an hour). Then its children go in *parts*: segments without a
  root, whose outermost spans refer to the root's place. A part goes when it is full, or old, and all its spans have
  ended. A websocket has parts from the start; any other segment is split when it is full or has lived for long: the
  root moves to a segment of its own, and the spans left behind are the first part.
* **The root's place is known outside already** (by a header, a log record, a reference). Then the root cannot move:
  the segment waits for it, with the spans that are in it; the next ones go in parts.
* **A span begins in a finished segment.** It opens a segment that refers back.

So each span keeps its place for ever once that is known outside, and arrives once.

A segment writes into its spans where they are (`segment`, `id`, `parent_id`, `refs`) and when they ended. A span writes
nothing into its segment, it calls it.
"""

from __future__ import annotations

# ruff: noqa: SLF001  (segments of one family know each other)
from collections.abc import Callable, Mapping
from weakref import ref

from ..limits import MAX_TAGS
from .headers import Leaving, SharedHeaders, share_headers
from .ids import new_id
from .model import INCOMPLETE, Reference, RefKind, SpanRecord
from .tracer import Tracer

NO_CORRELATION: Mapping[str, str] = {}
# Seconds after which a root counts as one that lives long, where it is not known from the start.
LONG_AFTER = 10.0
# Seconds for which a part waits for more spans.
PART_AGE = 2.0


class Segment:
    """An open segment; its tracer takes it once it is finished.

    :ivar is_root_known: whether the root's place may be known outside
    :ivar on_join: called with each span that joins below the root
    :ivar root_ended: when the root ended, by the tracer's clock
    """

    __slots__ = (
        "_correlation",
        "_count",
        "_endpoint",
        "_is_closed",
        "_open",
        "_part",
        "_root_segment",
        "_shared_headers",
        "_since",
        "_tracestate",
        "finished",
        "id",
        "is_root_known",
        "limited",
        "on_join",
        "root_ended",
        "spans",
        "trace_id",
        "tracer",
    )  # fmt: skip

    def __init__(
        self,
        tracer: Tracer,
        root: SpanRecord | None,
        trace_id: str | None = None,
        segment_id: str | None = None,
        *,
        root_segment: Segment | None = None,
        in_parts: bool = False,
    ) -> None:
        """
        :param root: None: a part
        :param trace_id: of the trace that it continues; it begins one when left out
        :param root_segment: of a part
        :param in_parts: whether the root is known to live long
        """
        self.tracer = tracer
        self.id = segment_id or new_id()
        self.trace_id = trace_id or new_id()
        self.spans: list[SpanRecord] = []
        self.limited = False
        self.finished = False
        self.is_root_known = False
        self.on_join: Callable[[SpanRecord], None] | None = None
        self.root_ended: float | None = None
        # not itself: that would be a cycle for the garbage collector
        self._root_segment: Segment | None = root_segment
        self._correlation = NO_CORRELATION
        self._tracestate = ""
        self._endpoint = ""
        self._shared_headers: SharedHeaders | None = None
        self._part: Segment | None = None
        self._since = tracer.clock()
        self._is_closed = in_parts
        # the root is in, as number 0: nothing else refers to the segment yet, so that needs no lock
        self._open: dict[int, ref[SpanRecord]] = {} if root is None else {0: ref(root)}
        self._count = len(self._open)
        tracer.watch(self)

    @property
    def root_segment(self) -> Segment:
        """The segment that the root is in; this one, unless it is a part."""
        return self._root_segment or self

    @property
    def endpoint(self) -> str:
        """The operation that this segment serves."""
        segment = self._root_segment or self
        # as `root`, without the call
        held = segment._open.get(0)
        root = held() if held is not None else None
        return segment._endpoint if root is None else root.name_now()

    @property
    def root(self) -> SpanRecord | None:
        """The span that opened it, as long as it is open."""
        root = self.root_segment._open.get(0)
        return root() if root is not None else None

    @property
    def correlation(self) -> Mapping[str, str]:
        """The correlation context. It is replaced, never changed in place: another thread may be writing it into
        headers.
        """
        return self.root_segment._correlation

    @correlation.setter
    def correlation(self, elements: Mapping[str, str]) -> None:
        self.root_segment._correlation = elements

    @property
    def tracestate(self) -> str:
        """The other vendors' entries of the header `tracestate`; passed on unchanged."""
        return self.root_segment._tracestate

    @tracestate.setter
    def tracestate(self, entries: str) -> None:
        self.root_segment._tracestate = entries

    def note_limit(self) -> None:
        """Mark the segment: some of its spans' data was left out."""
        self.limited = True

    def reference(self, span: SpanRecord) -> Reference:
        """How another segment of this process refers to a span of this one."""
        endpoint = self.endpoint
        with self.tracer.lock:
            its_segment: Segment = span.segment  # read in here: a root moves
            return its_segment._reference(span.id, endpoint)

    def leaving(self, span: SpanRecord) -> Leaving:
        """The context that leaves with a call of a span of this segment."""
        root_segment, segment, number = self._root_segment or self, self, span.id
        # as `root`, without the calls
        held = root_segment._open.get(0)
        root = held() if held is not None else None
        endpoint = root_segment._endpoint if root is None else root.name_now()
        if number == 0:
            with self.tracer.lock:
                segment = span.segment  # read in here: a root moves, but not from now on
                segment.is_root_known = True
                number = span.id
        shared = segment._shared_headers
        if shared is None:
            shared = segment._shared_headers = share_headers(segment.trace_id, segment.id)
        return shared, number, endpoint, root_segment._correlation, root_segment._tracestate

    # -- spans come and go --------------------------------------------------------------------------------------------

    def join(self, span: SpanRecord, parent: SpanRecord) -> bool:
        """Take a span in below its parent, which is here: into this segment, or into a part of it.

        :returns: False: the segment has gone, or its root has ended and there is no room
        """
        tracer = self.tracer
        with tracer.lock:
            segment: Segment = parent.segment
            number = segment._count
            has_room = number < tracer.span_limit and not segment._is_closed and not segment.finished
            if has_room:
                segment._count = number + 1
                segment._open[number] = ref(span)
                span.id = number
                span.segment = segment
                span.parent_id = parent.id
        if not has_room:
            return self._join_part(span, parent)
        if self.on_join is not None:
            self.on_join(span)
        return True

    def _join_part(self, span: SpanRecord, parent: SpanRecord) -> bool:
        """As `join`, where the parent's segment takes no more spans by itself."""
        over: list[Segment] = []
        # foreign code names an operation, so not with the lock held
        endpoint = self.endpoint if self._is_full else ""
        with self.tracer.lock:
            segment: Segment | None = parent.segment._with_room(endpoint, over)
            if segment is not None:
                span.id = segment._count
                segment._count += 1
                segment._open[span.id] = ref(span)
                span.segment = segment
                of_parent: Segment = parent.segment  # read after that: the root may have moved
                if segment is of_parent:
                    span.parent_id = parent.id
                else:
                    span.refs = (of_parent._reference(parent.id, endpoint),)
        for each in over:
            self.tracer.finish(each)
        if segment is not None and self.on_join is not None:
            self.on_join(span)
        return segment is not None

    def leave(self, span: SpanRecord, end_time: float) -> None:
        """End a span, unless it has ended; the last one to leave finishes its segment."""
        with self.tracer.lock:
            # two threads, or a signal handler and the code that it broke into, may stop one span at the same time
            if span.ended:
                return
            span.end_time = end_time
            span.ended = True
            segment: Segment = span.segment
            if segment.finished:
                # it was being collected while the segment was sent
                segment = segment._alone(span)
            segment.spans.append(span)
            still_open = segment._open
            number = span.id
            still_open.pop(number, None)
            if number and still_open:
                return
            over: list[Segment] = []
            if number == 0 and segment._root_segment is None:
                segment._note_root_end(span, over)
            if not still_open:
                segment._finish_if_over(over)
        for each in over:
            self.tracer.finish(each)

    def give_up(self, span: SpanRecord) -> None:
        """End a span that nothing else will end."""
        if span.prepare_end():
            with self.tracer.lock:
                self._mark_incomplete(span)
            self.leave(span, span.now())

    def newest_open(self) -> SpanRecord | None:
        """The span that began last and is open still."""
        try:
            newest = next(reversed(self._open.values()), None)
        except RuntimeError:
            return None  # another thread has just begun or ended one
        return newest() if newest is not None else None

    def withdraw(self, span: SpanRecord) -> bool:
        """Remove an open span that duplicates another one. False: something depends on it, or its place is known
        outside, so it stays.
        """
        over: list[Segment] = []
        with self.tracer.lock:
            segment: Segment = span.segment
            others = [each() for each in segment._open.values()]
            is_root = span.id == 0 and segment._root_segment is None
            if span.ended or segment.finished or segment._is_parent(span, others) or (is_root and segment._count > 1):
                return False
            span.ended = True
            if is_root:
                segment.discard()
                return True
            segment._open.pop(span.id, None)
            if span.id == segment._count - 1:
                segment._count -= 1
            if not segment._open:
                segment._finish_if_over(over)
        for each in over:
            self.tracer.finish(each)
        return True

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish_overdue(self, now: float, grace: float) -> None:
        """Finish it, or a part of it, if it has waited for long enough.

        :param now: by the tracer's clock
        :param grace: seconds for spans that are open when the root has ended
        """
        root_ended = self.root_segment.root_ended
        if root_ended is not None:
            if now - root_ended >= grace:
                self.finish_as_it_stands()
            return
        is_part = self._root_segment is not None
        if self._is_closed or not self.spans or now - self._since < (PART_AGE if is_part else LONG_AFTER):
            return
        over: list[Segment] = []
        endpoint = self.endpoint
        with self.tracer.lock:
            if not self._is_closed:
                self._is_closed = True
                if not is_part:
                    self._move_root(endpoint)
                self._finish_if_over(over)
        for each in over:
            self.tracer.finish(each)

    def finish_as_it_stands(self) -> None:
        """End what is open, mark it, and finish."""
        spans = [span for each in list(self._open.values()) if (span := each()) is not None and span.prepare_end()]
        with self.tracer.lock:
            if self.finished:
                return
            for span in spans:
                if not span.ended:
                    span.end_time = span.now()
                    span.ended = True
                    self._mark_incomplete(span)
                    self.spans.append(span)
                    if span.id == 0 and self._root_segment is None:
                        self._endpoint = span.name
            # spans missing here are being garbage-collected, which ends them
            self._open.clear()
            self._is_closed = self.finished = True
            if self._root_segment is None and self.root_ended is None:
                self.root_ended = self.tracer.clock()
        self.tracer.finish(self)

    def discard(self) -> None:
        """Forget the segment; it has not been sent."""
        with self.tracer.lock:
            self.finished = True
            self._open.clear()
        self.tracer.forget(self)

    def forget_spans(self) -> None:
        """Drop the spans once they are recorded. The data that later segments need to refer to this one stays."""
        self.spans = []

    # -- with the lock held; the segments and spans of one family use each other's private names ---------------------

    def _is_parent(self, span: SpanRecord, others: list[SpanRecord | None]) -> bool:
        return any(each.parent_id == span.id for each in [*others, *self.spans] if each is not None)

    @property
    def _is_full(self) -> bool:
        return self._is_closed or self._count >= self.tracer.span_limit

    def _with_room(self, endpoint: str, over: list[Segment]) -> Segment | None:
        """This segment, or the part that takes more spans. None: there is none.

        :param endpoint: the operation that this segment serves
        :param over: gets the segments that this finishes
        """
        if self.finished:
            return None
        if not self._is_full:
            return self
        if not self._is_closed:
            if self._root_segment is None and self.root_ended is None:
                self._move_root(endpoint)
            self._is_closed = True
            self._finish_if_over(over)
        root_segment = self.root_segment
        if root_segment.root_ended is not None:
            return None
        part = root_segment._part
        if part is not None:
            if not part._is_full:
                return part
            part._is_closed = True
            part._finish_if_over(over)
        part = root_segment._part = Segment(self.tracer, None, self.trace_id, root_segment=root_segment)
        part.on_join = self.on_join
        return part

    def _move_root(self, endpoint: str) -> None:
        """Give the root a segment of its own, unless its place is known outside. The remaining spans become a part."""
        root = self._open[0]()
        if root is None or self.is_root_known:
            return
        root_segment = Segment(self.tracer, root, self.trace_id, in_parts=True)
        root_segment._correlation = self._correlation
        root_segment._tracestate = self._tracestate
        root_segment.on_join = self.on_join
        root.segment = root_segment
        self._root_segment = root_segment
        del self._open[0]
        reference = (root_segment._reference(0, endpoint),)
        others = [span for each in self._open.values() if (span := each()) is not None]
        for span in [*self.spans, *others]:
            if span.parent_id == 0:
                span.parent_id = -1
                span.refs = (*reference, *span.refs)

    def _note_root_end(self, root: SpanRecord, over: list[Segment]) -> None:
        self.root_ended = self.tracer.clock()
        self._endpoint = root.name
        part, self._part = self._part, None
        if part is not None and not part.finished:
            part._is_closed = True
            part._finish_if_over(over)

    def _finish_if_over(self, over: list[Segment]) -> None:
        if not self._open and not self.finished and (self.root_ended is not None or self._is_closed):
            self.finished = True
            over.append(self)

    def _alone(self, span: SpanRecord) -> Segment:
        """A segment for a span whose own has gone."""
        segment = Segment(self.tracer, span, self.trace_id)
        if span.parent_id >= 0:
            span.refs = (self._reference(span.parent_id, self.root_segment._endpoint), *span.refs)
        span.segment, span.id, span.parent_id = segment, 0, -1
        return segment

    def _reference(self, span_id: int, endpoint: str) -> Reference:
        """How another segment of this process refers to a span of this one, which from now on cannot move."""
        self.is_root_known = self.is_root_known or span_id == 0
        tracer = self.tracer
        return Reference(RefKind.CROSS_THREAD, self.trace_id, self.id, span_id, tracer.service, tracer.instance,
                         endpoint or "-", "")  # fmt: skip

    def _mark_incomplete(self, span: SpanRecord) -> None:
        del span.tags[MAX_TAGS - 1 :]
        span.tags.append(INCOMPLETE)
        self.tracer.incomplete += 1
