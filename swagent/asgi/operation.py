"""The span of a request as the collector sees it: its segment, its name, its tags.

While the request is served nothing of this is done, unless somebody asks: the first child span, log record or header
that needs the span's segment opens it then and there. For most requests nobody does, and they end by the fast
path:
straight from their scope to a segment of one span.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ..record.cardinality import OVERFLOW
from ..record.limits import MAX_TAGS, short
from ..record.suppression import suppress_instrumentation
from ..record.trace.context import active_span, nearest_open
from ..record.trace.ids import new_ids
from ..record.trace.model import Component, Layer, Reference, SpanKind
from ..record.trace.segment import Segment
from ..record.trace.single_span import SingleSpanSegment
from ..record.trace.span import Span, parent_link
from ..record.trace.tracer import Tracer
from .faults import Faults
from .routes import UNMATCHED, component_of, is_unmatched, route_template
from .scope import ROUTES, SPAN_TEMPLATES, Request, Scope, read, tags_of

# Looking up a member in its enum takes longer than most lines here.
_ENTRY, _HTTP, _PYTHON = SpanKind.ENTRY, Layer.HTTP, Component.PYTHON
_NOTHING: Scope = {}
# What comes with opening.
_LATE = frozenset(Span.__slots__)
_UNREADABLE: Request = ("_OTHER", "_OTHER", "", "", None, None)


class OperationSpan(Span):
    """Until it is opened its times are those of the monotonic clock, and most of what a span has is not there yet.

    :ivar status: of the response; 0 until it has begun
    """

    __slots__ = ("_is_open", "_method", "_origin", "_scope", "_segment_id", "_trace_id", "faults", "status")
    name: str
    layer: int
    component: int
    refs: Sequence[Reference]
    _method: str
    _origin: str

    def __init__(self, tracer: Tracer, scope: Scope, faults: Faults) -> None:
        # not the parent's, which sets what `_open_now` does
        self._tracer: Tracer = tracer
        self._scope: Scope = scope
        self.faults = faults
        self._is_open = False
        self._trace_id = self._segment_id = ""
        self.status = 0
        self.ended = False
        self.frame = None
        self.epoch = 0.0
        self.start_time = time.monotonic()

    # -- opening ------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # a slot that is not set yet
        if name not in _LATE or self._is_open:
            raise AttributeError(f"a span has no attribute {name!r}")
        self._open_now(None, None)
        return getattr(self, name)

    def _open_among(self, inherited: Any) -> None:
        """Open at once, where more than the request decides whether it is recorded."""
        live = active_span(inherited)
        source = live or parent_link(inherited, _ENTRY)
        self.previous = nearest_open(inherited) or source
        self._open_now(live, source, is_ours=suppress_instrumentation.get())

    def _open_now(
        self, live: Span | None, source: Any, request: Request | None = None, *, is_ours: bool = False
    ) -> None:
        """:param request: where the scope has been read already"""
        fault: Exception | None = None
        try:
            if request is None and not self._trace_id:
                request = read(self._scope, self._tracer)
        except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
            fault = error
        with self._tracer.lock:
            if self._is_open:
                return
            already_exported = bool(self._trace_id)
            if already_exported:
                request, fault = ("", self.name, "", "", None, None), None
            self._method, self.name, self.peer, self._origin, self.carrier, self.correlation = request or _UNREADABLE
            self.kind, self.layer, self.component = _ENTRY, _HTTP, _PYTHON
            self.id = self.parent_id = -1
            self.refs = ()
            self.tags, self.logs = [], []
            self.failed = False
            epoch = self.epoch = time.time() - time.monotonic()
            self.start_time += epoch
            if self.ended:
                self.end_time += epoch
            self.segment = None
            try:
                if already_exported:
                    self._open_finished()
                elif fault is None and not is_ours:
                    self._open_segment(live, source)
            except Exception as error:  # noqa: BLE001, RUF100  (ours, and the application may stand behind this call)
                fault = error
            self._is_open = True
        if fault is not None:
            # outside of the lock: what is logged is foreign code's next
            self.faults.note("opening the span of a request", fault)

    def _open_finished(self) -> None:
        """For who continues a trace whose segment has gone already."""
        self.id = 0
        segment = Segment(self._tracer, self, self._trace_id, self._segment_id)
        segment.finished = True
        segment.take_apart()
        self.segment = segment

    # -- the end ------------------------------------------------------------------------------------------------------

    def finish_fast(self, end_time: float) -> SingleSpanSegment | None:
        """The fast path, for a request that nobody has looked into. None: it has to take the full one.

        :param end_time: by the monotonic clock
        """
        tracer, scope = self._tracer, self._scope
        try:
            method, name, peer, origin, carrier, _ = request = read(scope, tracer)
            template = route_template(scope)
            if template is None or carrier is not None or tracer.is_ignored(name):
                self._open_now(None, None, request)
                return None
            span_template = SPAN_TEMPLATES[method, origin, template, component_of(scope), self.status]
        except Exception:  # noqa: BLE001, RUF100  (the other way meets it again, and tells)
            return None
        if span_template.name not in tracer.endpoints:
            return None
        with tracer.lock:
            # two threads may end one span at the same time, or another be opening it
            if self._is_open or self.ended:
                return None
            # from here on the segment is finished: who opens this span now finds it so
            trace_id, segment_id = self._trace_id, self._segment_id = new_ids()
            self.name = span_template.name
            self.end_time = end_time
            self.ended = True
        self._scope = _NOTHING
        epoch = time.time() - end_time
        start, end = int((epoch + self.start_time) * 1000), int((epoch + end_time) * 1000)
        return SingleSpanSegment(span_template, trace_id, segment_id, start, end, peer)

    def _end(self, end_time: float) -> None:
        """:param end_time: by the monotonic clock"""
        segment: Segment | None = self.segment
        if segment is None:
            self.end_time, self.ended = self.epoch + end_time, True
            self._scope = _NOTHING
            return
        try:
            self._describe()
        finally:
            segment.leave(self, self.epoch + end_time)
            self._scope = _NOTHING

    # -- describing it ------------------------------------------------------------------------------------------------

    def _describe(self) -> None:
        """Name it and tag it, with what is known now."""
        template = self._template()
        if template is not None:
            # The URL shows the route: what stands in the path instead of a parameter may be a secret, such as the token
            # of a reset link.
            self.name, url = ROUTES[self._method, self._origin, template]
            self.name = self._kept(self.name, from_client=False)
        else:
            url = ("http.url", short(self._origin + self._scope["path"]))
            self.name = self._name_without_route()
        self.component = component_of(self._scope)
        tags = tags_of(self._method, url, self.status)
        if self.status >= 500:
            self.failed = True
        self.tags = [*tags, *self.tags[: MAX_TAGS - len(tags)]]

    def name_now(self) -> str:
        """The operation's name as far as it is known by now. The application calls it too, through `span.headers()`."""
        if self.ended:
            return self.name
        template = self._template()
        if template is None:
            return self._name_without_route()
        return self._kept(ROUTES[self._method, self._origin, template][0], from_client=False)

    def _name_without_route(self) -> str:
        try:
            if is_unmatched(self._scope, self.status > 0):
                return f"{self._method}:{UNMATCHED}"
        except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects, read from outside)
            self.faults.note("naming an operation", error)
        return self._kept(self.name, from_client=True)

    def _kept(self, name: str, *, from_client: bool) -> str:
        segment: Segment | None = self.segment
        if segment is None:
            return name
        return segment.tracer.endpoints.keep(name, f"{self._method}:{OVERFLOW}", from_client=from_client)

    def _template(self) -> str | None:
        try:
            return route_template(self._scope)
        except Exception as error:  # noqa: BLE001, RUF100  (as above)
            self.faults.note("naming an operation", error)
            return None
