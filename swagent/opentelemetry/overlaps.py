"""Whether a span lies beside one of another library that says the same; see `duplicates.py`."""

from __future__ import annotations

from itertools import islice
from typing import Any

from ..record.limits import as_text
from ..record.trace.model import Layer, SpanKind, SpanRecord
from .conventions import layer_of

_EXIT = SpanKind.EXIT
_LOOKED_AT = 16
_LAYERS = (Layer.DATABASE, Layer.CACHE)
_TYPES = ("db.type", "cache.type")


def is_covered(span: Any, end_time: float) -> bool:
    """Whether a span of another library, native or bridged, lies beside this one, which is about to end, and says what
    it says."""
    segment = span.segment
    if segment is None or span.is_known or span.failed or span.kind is not _EXIT or not segment.spans:
        return False
    # the last ones to end come last
    for other in islice(reversed(segment.spans), _LOOKED_AT):
        if other.end_time < span.start_time:
            return False
        if (
            other.kind is _EXIT
            and other.parent_id == span.parent_id
            and span.start_time <= other.start_time
            and other.end_time <= end_time
            and _is_of_another_library(span, other)
            and _is_one_call(span, other)
        ):
            return True
    return False


def _is_of_another_library(span: Any, other: Any) -> bool:
    """Two calls of one library at the same time are two calls."""
    library = getattr(other, "library", None)
    return library is None or library.scope != span.library.scope


def _is_one_call(span: Any, other: SpanRecord) -> bool:
    """Whether both talk to the same server, as far as they say: an ORM may not know the port, or the server."""
    layer, system = layer_of(span.attributes)
    # two clients may well call one HTTP server at the same time
    if other.layer != layer or layer not in _LAYERS:
        return False
    ours, theirs = span.peer_now(), other.peer
    if ours:
        return bool(ours == theirs or ours == theirs.rpartition(":")[0])
    named = next((value for key, value in other.tags if key in _TYPES), "")
    return not named or not system or as_text(named).lower() == system
