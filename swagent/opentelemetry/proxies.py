"""Spans of OpenTelemetry's that record nothing of their own: they are proxies of something that is recorded already, or
is recorded elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, Status, StatusCode

from ..record.limits import name_of
from ..record.trace.carrier import Carrier
from ..record.trace.context import Active
from ..record.trace.span import Span as RecordedSpan
from ..record.trace.traceparent import Traceparent
from .locations import location_of, location_of_caller
from .tags import tag_name


class SpanProxy(Span):
    """A span, a request or a snapshot of swagent's own, as OpenTelemetry's API sees it. It is not ended from here: the
    code that began it does that.

    :ivar entry: the original
    """

    __slots__ = ("entry",)

    def __init__(self, entry: Active[RecordedSpan]) -> None:
        self.entry = entry

    def _span(self) -> RecordedSpan | None:
        """The span that takes tags and logs; None where there is none any more."""
        if self.entry.ended:
            return None
        return self.entry.to_span()

    def end(self, end_time: int | None = None) -> None:
        """Leave it open."""

    def get_span_context(self) -> SpanContext:
        """Where it is."""
        return location_of(self.entry.reference())

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Tag it with each."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def set_attribute(self, key: str, value: Any) -> None:
        """Tag it, unless the attribute may be private."""
        name = tag_name(key)
        span = self._span() if name else None
        if span is not None:
            span.tag(name, value)

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        """Add a log entry."""
        span = self._span()
        if span is not None:
            given: dict[Any, Any] = dict(attributes) if attributes else {}
            known: dict[str, Any] = {tag_name(key): value for key, value in given.items()}
            known.pop("", None)
            span.log(**{**known, "event": name})

    def update_name(self, name: str) -> None:
        """Rename it."""
        span = self._span()
        if span is not None:
            span.name = name_of(name)

    def is_recording(self) -> bool:
        """Whether it is recorded and still open."""
        return not self.entry.ended and self.entry.is_recorded

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Mark it as failed, where that is the status."""
        code = status.status_code if isinstance(status, Status) else status
        span = self._span() if code is StatusCode.ERROR else None
        if span is not None:
            span.error()

    def record_exception(
        self, exception: BaseException, attributes: Any = None, timestamp: int | None = None, escaped: bool = False
    ) -> None:
        """Log an exception."""
        span = self._span()
        if span is not None:
            span.note_outcome(exception)


class Absorbed(SpanProxy):
    """A proxy for a span that would say what another one says already: tags and logs are not kept, and its children are
    the other one's."""

    __slots__ = ()

    def _span(self) -> None:
        return None

    def is_recording(self) -> bool:
        """No."""
        return False


class RemoteSpan(NonRecordingSpan):
    """The caller's span, as a propagator has read it.

    :ivar carrier: the context in its headers
    :ivar correlation: the correlation context of its trace
    """

    def __init__(self, carrier: Carrier | Traceparent, correlation: dict[str, str] | None = None) -> None:
        super().__init__(location_of_caller(carrier))
        self.carrier = carrier
        self.correlation = correlation
