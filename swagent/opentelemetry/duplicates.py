"""Which spans of OpenTelemetry's say what another span says already.

* **Nested**: a call inside a call is one call, as it is for the native instrumentations: the outer one has the span. A
  request that our own middleware has taken is one request, whatever a framework's instrumentation says of it.
* **Side by side**: a span that was never active cannot be found by what goes on inside it. So an ORM's span and its
  driver's lie next to each other, with one parent. Where the span of another library lies within the time of a bridged
  one, to the same peer, the bridged one is withdrawn (`overlaps.py`). A native span is never withdrawn.
* **Twins**: an instrumentation that is registered twice begins two spans for a query and ends one of them. The first is
  withdrawn when the second begins.

A span is withdrawn only if nothing depends on it: no child, no header, no link, no failure.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..record.trace.carrier import Carrier
from ..record.trace.context import Active, active_span
from ..record.trace.model import Layer, SpanKind
from ..record.trace.outcome import running_task
from ..record.trace.span import Span
from .conventions import layer_of
from .libraries import Library
from .span import BridgedSpan

_ENTRY, _EXIT, _LOCAL = SpanKind.ENTRY, SpanKind.EXIT, SpanKind.LOCAL
_HTTP_ATTRIBUTES = ("http.request.method", "http.method", "asgi.event.type")


def entry_around(place: Any) -> Any:
    """The open entry span, or the request, that a place in this context is inside of; None for none."""
    if place is None or not isinstance(place, Span):
        return place  # a request that is no span yet
    root = place.segment.root if place.segment is not None else None
    return root if root is not None and root.kind is _ENTRY else None


def is_same_request(library: Library, kind: SpanKind, attributes: Mapping[str, Any] | None) -> bool:
    """Whether a span inside a native entry span describes the same request."""
    given: Mapping[str, Any] = attributes or {}
    if kind is _LOCAL:
        return library.is_web and any(key in given for key in _HTTP_ATTRIBUTES)
    return kind is _ENTRY and (library.is_web or layer_of(dict(given))[0] is Layer.HTTP)


def is_same_message(entry: Any, carrier: Any) -> bool:
    """Whether an entry span continues the very call that this carrier names."""
    if not isinstance(entry, Span) or not isinstance(carrier, Carrier):
        return False
    return any(each.segment_id == carrier.segment_id and each.span_id == carrier.span_id for each in entry.refs)


def outer_call(parent: Active[Span] | None) -> Span | None:
    """The call that a call with this parent is a part of; None where it is one of its own."""
    active = active_span(parent)
    return active if isinstance(active, Span) and active.kind is _EXIT else None


def withdraw_twin(library: Library, name: str, parent: Active[Span] | None) -> None:
    """Withdraw the span that the same instrumentation has begun just before, in the same place, for the same query."""
    active = active_span(parent)
    segment = active.segment if isinstance(active, Span) else None
    twin = segment.newest_open() if segment is not None else None
    if (
        isinstance(twin, BridgedSpan)
        and twin is not active
        and twin.kind is _EXIT
        and twin.library.scope == library.scope
        and twin.said == name
        and not twin.is_known
        and twin.previous is active
        and layer_of(twin.attributes)[0] is Layer.DATABASE
        and twin.owner == (threading.get_ident(), id(running_task()))
        and twin.segment is not None
    ):
        twin.segment.withdraw(twin)
