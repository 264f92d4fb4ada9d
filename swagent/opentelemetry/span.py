"""A span of OpenTelemetry's that is a native span: it is in the same segments, and in the same context variable.

Instrumentations add to a span until it ends, so its attributes are kept as they came, and read once: when it ends, or
when a part of it is needed before.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext, Status, StatusCode

from ..agent_log import RateLimitedLog
from ..record.foreign import must_reach_application
from ..record.limits import MAX_LOGS, MAX_MESSAGE, MAX_TAGS, as_text, describe, short
from ..record.trace.context import current, switch
from ..record.trace.model import SpanKind
from ..record.trace.outcome import Outcome, outcome_of, running_task
from ..record.trace.segment import Segment
from ..record.trace.span import Span
from ..record.trace.tracer import Tracer
from . import conventions
from .libraries import Library
from .locations import location_of, reference_of
from .overlaps import is_covered
from .peers import server_of
from .tags import tag_name, text_of

if TYPE_CHECKING:
    from typing_extensions import Self

_ENTRY, _EXIT = SpanKind.ENTRY, SpanKind.EXIT
_NANOSECONDS = 1e9
_EXCEPTION = {"exception.type": "error.kind", "exception.message": "message", "exception.stacktrace": "stack"}
_limited = RateLimitedLog()


class BridgedSpan(Span, trace.Span):
    """One operation, as an OpenTelemetry instrumentation records it.

    :ivar library: the instrumentation
    :ivar attributes: as they came
    :ivar is_known: whether its place may be known outside
    :ivar owner: the thread and the task that began it
    """

    __slots__ = ("_in_flight", "_is_ok", "_is_settled", "_last_error", "_said", "_status", "attributes", "is_known",
                 "library", "owner")  # fmt: skip

    def __init__(
        self, library: Library, name: str, kind: SpanKind, attributes: Mapping[str, Any] | None, tracer: Tracer
    ) -> None:
        Span.__init__(self, conventions.plain_name(as_text(name)), kind, tracer=tracer)
        self.library = library
        self.attributes: dict[str, Any] = dict(attributes) if attributes else {}
        self.is_known = False
        # their identities will do: the span may outlive them
        self.owner = (threading.get_ident(), id(running_task())) if kind is _EXIT else None
        self._said = name
        self._status = ""
        self._is_ok = False
        self._is_settled = False
        self._last_error = 0
        # an exception that is being handled already is not one of this span
        self._in_flight = id(sys.exc_info()[1])

    # -- what OpenTelemetry's API asks for ----------------------------------------------------------------------------

    def end(self, end_time: int | None = None) -> None:
        """End now, or when it is said to have ended. A second end does nothing."""
        if self.ended:
            return
        try:
            at = self.now() if end_time is None else max(int(end_time) / _NANOSECONDS, self.start_time)
            error = sys.exc_info()[1]
            if error is not None:
                self._note_interruption(error)
            if not (is_covered(self, at) and self._withdraw()):
                self.stop_at(at)
        except Exception as raised:  # noqa: BLE001, RUF100  (ours, or a time that is none; it costs no call)
            _limited.warn("end", "the span of an OpenTelemetry instrumentation could not end: %r", raised)

    def get_span_context(self) -> SpanContext:
        """Where it is."""
        if self.segment is None:
            return INVALID_SPAN_CONTEXT
        self.is_known = True
        return location_of(self.reference())

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Take attributes in."""
        if not self.ended and self.segment is not None:
            self.attributes.update(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        """Take an attribute in."""
        if not self.ended and self.segment is not None:
            self.attributes[key] = value

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        """Add a log entry."""
        given: dict[str, Any] = dict(attributes) if attributes else {}
        if name == "exception":
            said = {_EXCEPTION[key]: short(text_of(value)) for key, value in given.items() if key in _EXCEPTION}
            self._add_log({"event": "error", **said}, timestamp)
            return
        # such events contain the prompts and answers of models
        is_private = name.startswith("gen_ai.")
        known = {} if is_private else {tag_name(key): short(text_of(value)) for key, value in given.items()}
        known.pop("", None)
        self._add_log({"event": short(as_text(name)), **known}, timestamp)

    def add_link(self, context: SpanContext, attributes: Any = None) -> None:
        """Refer to another span, if it is a native one."""
        reference = reference_of(context)
        if reference is not None:
            self.refer_to(reference)

    def update_name(self, name: str) -> None:
        """Rename it."""
        if not self.ended:
            self._said = name
            self.name = conventions.plain_name(as_text(name))

    def is_recording(self) -> bool:
        """Whether it takes anything in."""
        return self.segment is not None and not self.ended

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Mark it as failed, where that is the status. A cancellation and a timeout are none, and OK is final."""
        if self.ended or self._is_ok:
            return
        code: Any = status
        if isinstance(status, Status):
            code, description = status.status_code, status.description
        if code is StatusCode.OK:
            self._is_ok = True
            self.failed = False
        elif code is StatusCode.ERROR and not any(key == "outcome" for key, _ in self.tags):
            self.failed = True
            self._status = short(as_text(description), MAX_MESSAGE) if description else ""

    def record_exception(
        self, exception: BaseException, attributes: Any = None, timestamp: int | None = None, escaped: bool = False
    ) -> None:
        """Log an exception; one that was logged already is not logged again."""
        if self.ended or self.segment is None or self._last_error == id(exception):
            return
        self._last_error = id(exception)
        outcome = outcome_of(exception)
        if outcome in (Outcome.CANCELLED, Outcome.TIMED_OUT):
            self.tag_outcome(outcome)
        if isinstance(exception, Exception):
            self._add_log({"event": "error", **describe(exception)}, timestamp)

    def __enter__(self) -> Self:
        # it is not active in the block; start_as_current_span and use_span make it active
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.note_outcome(error)
        self.end()

    # -- what native code asks for ------------------------------------------------------------------------------------

    @property
    def said(self) -> str:
        """Its name as it was given."""
        return self._said

    def peer_now(self) -> str:
        """Its peer, as far as it is known by now."""
        return self.peer or server_of(self.attributes, conventions.layer_of(self.attributes)[1])

    def headers(self) -> dict[str, str]:
        """The headers that carry this context to the peer, as far as it is known by now."""
        if self.kind is _EXIT and not self.peer:
            self.peer = self.peer_now()
        return self.headers_for(self.peer)

    def headers_for(self, peer: str) -> dict[str, str]:
        """The same, for a peer that the caller knows."""
        self.is_known = True
        if self.kind is _EXIT and not self.peer:
            # the library inside knows the peer
            self.peer = peer
        return super().headers_for(peer)

    def name_now(self) -> str:
        """Its name as the collector will see it, if it ends now."""
        segment = self.segment
        if self.kind is not _ENTRY or self._is_settled or segment is None:
            return super().name_now()
        return segment.tracer.endpoints.keep(self._describe(segment).name)

    def prepare_end(self) -> bool:
        """Say what the attributes say. False: it has ended."""
        segment = self.segment
        if segment is None or self.ended:
            return False
        if not self._is_settled:
            self._is_settled = True
            try:
                self._settle(segment)
            except BaseException as error:  # noqa: BLE001, RUF100  (attributes may be anything)
                if must_reach_application(error):
                    raise
                _limited.warn("settle", "the attributes of a span could not be read: %r", error)
        return super().prepare_end()

    def _withdraw(self) -> bool:
        """Go as if it had never been. False: something depends on it."""
        segment = self.segment
        if segment is None or not segment.withdraw(self):
            return False
        if current.get() is self:
            switch(current, self.previous)
        return True

    def _settle(self, segment: Segment) -> None:
        described = self._describe(segment)
        self.name = described.name
        self.layer = int(described.layer)
        self.component = described.component
        if self.kind is not SpanKind.LOCAL:
            self.peer = described.peer
        room = MAX_TAGS - len(self.tags)
        if len(described.tags) > room:
            segment.note_limit()
        self.tags += described.tags[:room]
        if self.failed and self._status and not self.logs:
            self._add_log({"event": "error", "message": self._status}, None)

    def _describe(self, segment: Segment) -> conventions.Described:
        real_path = segment.tracer.real_path
        return conventions.describe(self.library, self.kind, as_text(self._said), self.attributes, self.peer, real_path)

    def _note_interruption(self, error: BaseException) -> None:
        """Say that it was cut off, where the cancellation or the timeout is on its way out while it ends: most
        instrumentations end their spans in a `finally` and say nothing of it."""
        if id(error) == self._in_flight or self.failed:
            return
        outcome = outcome_of(error)
        if outcome in (Outcome.CANCELLED, Outcome.TIMED_OUT) and not any(key == "outcome" for key, _ in self.tags):
            self.tag_outcome(outcome)

    def _add_log(self, fields: dict[str, str], timestamp: int | None) -> None:
        segment = self.segment
        if self.ended or segment is None:
            return
        if len(self.logs) >= MAX_LOGS or len(fields) > MAX_TAGS:
            segment.note_limit()
        if len(self.logs) < MAX_LOGS:
            at = self.now() if timestamp is None else int(timestamp) / _NANOSECONDS
            self.logs.append((at, list(fields.items())[:MAX_TAGS]))
