"""The differences that stay under SW_AGENT_COMPATIBILITY=official, each with its reason: applied to what the official
agent records, they give what this one does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .views import SegmentView, SpanView

Change = Callable[[SegmentView], SegmentView]

_OUTER = 7000
_FALCON = 7012
_ERROR = ("event", "error.kind", "message", "stack")


def one_span_for_a_request(segment: SegmentView) -> SegmentView:
    """A framework inside of a server is one request, and one span: the framework's."""
    if len(segment) > 1 and segment[0].component == _OUTER and segment[1].kind == "Entry":
        return tuple(replace(span, parent=span.parent - 1) for span in segment[1:])
    return segment


def no_query(segment: SegmentView) -> SegmentView:
    """A query may hold secrets: it is in no URL. Most of the official agent's plugins leave it out, too."""
    return _each(segment, _without_query)


def _without_query(span: SpanView) -> SpanView:
    url = dict(span.tags).get("http.url", "")
    return span.without_tag("http.url", url.partition("?")[0]) if "?" in url else span


def no_log_of_an_answer(segment: SegmentView) -> SegmentView:
    """An exception by which an application answers a status below 500 is no error of it, and is not logged."""
    return _each(
        segment, lambda span: replace(span, log_fields=()) if ("http.status_code", "404") in span.tags else span
    )


def fields_of_an_error(segment: SegmentView) -> SegmentView:
    """An exception is logged in the four fields that OAP's page knows, by places and without source lines."""
    return _each(segment, lambda span: replace(span, log_fields=tuple(_ERROR for _ in span.log_fields)))


def falcon_is_recorded(segment: SegmentView) -> SegmentView:
    """The official agent's plugin does not find Falcon 4, and records the server alone."""
    return _each(segment, lambda span: replace(span, component=_FALCON))


def no_handshake(segment: SegmentView) -> SegmentView:
    """What a client says when it connects is no command of the application's."""
    return tuple(span for span in segment if span.operation != "Redis/CLIENT")


def endpoint_of_the_request(segment: SegmentView) -> SegmentView:
    """A reference names the operation that the caller served, as the protocol has it, and not the call."""
    return _each(
        segment,
        lambda span: replace(
            span, references=tuple((kind, "/orders" if kind == "CrossProcess" else at) for kind, at in span.references)
        ),
    )


def _each(segment: SegmentView, change: Callable[[SpanView], SpanView]) -> SegmentView:
    return tuple(change(span) for span in segment)


DIFFERENCES: dict[str, tuple[Change, ...]] = {
    "flask": (no_log_of_an_answer, fields_of_an_error),
    "django": (one_span_for_a_request,),
    "falcon": (falcon_is_recorded,),
    "tornado": (no_log_of_an_answer,),
    "http.server": (no_query,),
    "redis": (no_handshake,),
    "by hand": (endpoint_of_the_request,),
}
"""By the name of the program; a program that is not here is recorded alike by both."""
