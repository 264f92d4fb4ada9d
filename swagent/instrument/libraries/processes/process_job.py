"""The context of a job for another process: what travels with the job, and the job's span over there.

The context travels as a plain dictionary of texts, the headers of a call: every child can unpickle it, also one that
has no agent. Parent and child are one application, so the settings that say which peers may get the context, and whose
context is trusted, do not count here. A job of a trace that is not recorded carries a context that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from ....record.limits import name_of
from ....record.suppression import suppress_instrumentation
from ....record.trace.carrier import format_correlation, format_sw8, parse_correlation, parse_sw8
from ....record.trace.context import active_span, current
from ....record.trace.model import Component, SpanKind
from ....record.trace.span import Span, parent_link
from ....record.trace.tracer import running

SENT = "_swagent_sent"
"""The attribute of something of the library's that has the context of its job."""

_NONE = "-"
_UNRECORDED = format_sw8((False, _NONE, _NONE, 0, _NONE, _NONE, _NONE, _NONE))


def attributes_of(thing: Any) -> dict[str, Any]:
    """Those of the object itself, whatever its class makes of them."""
    return cast("dict[str, Any]", vars(thing))


def sent_with_job() -> dict[str, str] | None:
    """The context to send with a job that is handed over here; None: it belongs to no trace."""
    inherited = current.get()
    if inherited is None or suppress_instrumentation.get() or running() is None:
        return None
    entry = active_span(inherited)
    source: Any = entry.to_span() if entry is not None else parent_link(inherited, SpanKind.LOCAL)
    if source is None:
        return None
    place = source.reference()
    if place is None:
        return {"sw8": _UNRECORDED}
    _, trace_id, segment_id, span_id, service, instance, endpoint, _ = place
    sent = {"sw8": format_sw8((True, trace_id, segment_id, span_id, service, instance, endpoint, _NONE))}
    elements = source.carried()
    if elements:
        sent["sw8-correlation"] = format_correlation(elements)
    return sent


def begin_job(function: object, sent: Mapping[str, str] | None) -> Span | None:
    """Begin the span of a job that came in, and make it the active one. None: the job belongs to no trace, or nothing
    is recorded here.

    :param function: after which the span is named
    """
    carrier = parse_sw8(sent["sw8"]) if sent else None
    tracer = running() if carrier is not None and not suppress_instrumentation.get() else None
    if tracer is None or not sent:
        return None
    elements = parse_correlation(sent.get("sw8-correlation", ""), *tracer.correlation_limits)
    name = name_of(_name_of(function))
    # no entry span: the service's own work is no request, and would count as one
    span = Span(name, SpanKind.LOCAL, "", 0, Component.PYTHON, carrier, elements, tracer)
    return span.start()


def _name_of(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    name: object = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__
