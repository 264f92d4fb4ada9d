"""Whether a span lies beside a native one that says the same; see `doubles.py`."""

from __future__ import annotations

from itertools import islice
from typing import Any

from opentelemetry import trace

from ..record.trace.model import SpanKind
from .conventions import layer_of

_EXIT = SpanKind.EXIT
_LOOKED_AT = 16


def is_covered(span: Any, end_time: float) -> bool:
    """Whether a native span beside this bridged one, which is about to end, says what it says."""
    segment = span.segment
    if segment is None or span.is_told or span.failed or span.kind is not _EXIT or not segment.spans:
        return False
    # the last ones to end come last
    for other in islice(reversed(segment.spans), _LOOKED_AT):
        if other.end_time < span.start_time:
            return False
        if (
            other.kind is _EXIT
            and other.parent_id == span.parent_id
            and not isinstance(other, trace.Span)
            and span.start_time <= other.start_time
            and other.end_time <= end_time
            and other.layer == layer_of(span.attributes)[0]
            and _is_one_peer(span.peer_now(), other.peer)
        ):
            return True
    return False


def _is_one_peer(ours: str, theirs: str) -> bool:
    """Whether two addresses are one, as far as they are told: an ORM may not know the port."""
    return not ours or ours == theirs or ours == theirs.rpartition(":")[0]
