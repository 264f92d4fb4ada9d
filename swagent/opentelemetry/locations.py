"""Where a span is, as OpenTelemetry says it: a span context whose ids are folded from those of the segment."""

from __future__ import annotations

import hashlib
from typing import Any

from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext, TraceFlags

from ..record.trace.carrier import Carrier
from ..record.trace.model import Reference, RefKind
from ..record.trace.traceparent import Traceparent, fold

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_ID_BYTES = 16
_HEX_DIGITS = 2 * _ID_BYTES


class Location(SpanContext):
    """A span context that knows what a segment has to refer to; that of another agent's span knows none.

    :ivar reference: None where a link to it would have to be made up
    """

    reference: Reference | None


def location_of(reference: Reference | None, is_remote: bool = False) -> SpanContext:
    """The span context of a place in a segment; the invalid one for none."""
    if reference is None:
        return INVALID_SPAN_CONTEXT
    segment = _as_number(reference.segment_id)
    location = Location(
        _as_number(reference.trace_id), fold(f"{segment:032x}", reference.span_id) or 1, is_remote, _SAMPLED
    )
    # its class lets no attribute be set
    vars(location)["reference"] = reference
    return location


def location_of_caller(carrier: Carrier | Traceparent) -> SpanContext:
    """The span context of the caller that a header names."""
    if isinstance(carrier, Traceparent):
        return SpanContext(int(carrier.trace_id, 16), int(carrier.span_id, 16), True, TraceFlags(carrier.flags))
    if not carrier.sampled:
        return INVALID_SPAN_CONTEXT
    return location_of(Reference(RefKind.CROSS_PROCESS, *carrier[1:]), is_remote=True)


def reference_of(context: Any) -> Reference | None:
    """The span that a link to this span context refers to; None for a span context of another SDK."""
    return context.reference if isinstance(context, Location) else None


def _as_number(identity: str) -> int:
    """An id as 128 bits. One of another form, such as a Java agent's, is hashed: it names the trace in this process
    alone, and is written into no header."""
    try:
        if len(identity) == _HEX_DIGITS:
            return int(identity, 16) or 1
    except ValueError:
        pass
    return int.from_bytes(hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=_ID_BYTES).digest(), "big")
