"""The headers that go out with a call. Those of one segment differ in little: what they share is written once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..bounded_cache import BoundedCache
from .carrier import format_correlation, format_place, write_field
from .traceparent import fold, is_w3c_id

SharedHeaders = tuple[str, str, str, int, str]
"""The common part of the headers of all spans of a segment: the beginnings of `sw8`, `tracestate` and `traceparent`,
and the span's id in `traceparent`: its first byte as it is without the span's number, and the text behind that byte.
The beginning of `traceparent` is empty where the trace's id has another form."""

Leaving = tuple[SharedHeaders, int, str, Mapping[str, str], str]
"""The context that leaves with a call: the common part of the segment's headers, the span's number, the operation that
the segment serves, the correlation, and the other vendors' entries of `tracestate`."""

_FEW = 256
_BYTES = tuple(f"{number:02x}" for number in range(_FEW))
# formatting a number takes longer than all else here
_NUMBERS = tuple(map(str, range(_FEW)))
_BEHIND_FIRST = (1 << 56) - 1


class Sender(Protocol):
    """A tracer as the headers show it."""

    service: str
    instance: str
    traceparent: bool


def share_headers(trace_id: str, segment_id: str) -> SharedHeaders:
    """Write the common part of the headers of all spans of a segment."""
    sw8, state = f"1-{write_field(trace_id)}-{write_field(segment_id)}-", f"sw={segment_id}-"
    if not is_w3c_id(trace_id):
        return sw8, state, "", 0, ""
    folded = fold(segment_id, 0)
    return sw8, state, f"00-{trace_id}-", folded >> 56, f"{folded & _BEHIND_FIRST:014x}-01"


def write_headers(leaving: Leaving, sender: Sender, peer: str) -> dict[str, str]:
    """Write the headers of a span's call.

    :param peer: whom it goes to
    """
    (sw8, state, trace, first, rest), number, endpoint, correlation, others = leaving
    place = PLACES[sender.service, sender.instance, endpoint or "-", peer or "-"]
    # the span's number is in the first byte of its id, and one of more bytes goes on in the next ones
    if number < _FEW:
        text, span = _NUMBERS[number], f"{_BYTES[first ^ number]}{rest}"
    else:
        text, span = str(number), _write_span(first, rest, number)
    if correlation or others or not trace or not sender.traceparent:
        return _write_others(leaving, f"{sw8}{text}-{place}", f"{trace}{span}", f"{state}{text}", sender.traceparent)
    return {"sw8": f"{sw8}{text}-{place}", "traceparent": trace + span, "tracestate": state + text}


def _write_others(leaving: Leaving, sw8: str, traceparent: str, tracestate: str, has_w3c: bool) -> dict[str, str]:
    """Where the correlation travels, or not all of the headers."""
    (_, _, trace, _, _), _, _, correlation, others = leaving
    headers = {"sw8": sw8}
    if correlation:
        headers["sw8-correlation"] = format_correlation(correlation)
    if trace and has_w3c:
        headers["traceparent"] = traceparent
        headers["tracestate"] = f"{tracestate},{others}" if others else tracestate
    return headers


def _write_span(first: int, rest: str, number: int) -> str:
    id_, _, flags = rest.partition("-")
    if not id_:
        return ""
    return f"{first << 56 ^ int(id_, 16) ^ fold('0', number):016x}-{flags}"


PLACES: BoundedCache[tuple[str, str, str, str], str] = BoundedCache(lambda texts: format_place(*texts))
