"""The W3C's context beside `sw8`: the headers `traceparent` and `tracestate`, as text and as values.

Both carry the same trace id if it has 32 hexadecimal digits, as this agent makes them. A span has no id of 64 bits
here, so one is folded from the ids of its segment and of the span in it, as OpenTelemetry's own receiver of
SkyWalking's segments folds them. A received header contains too little for a reference, which names a service, an
instance and an endpoint. So the trace's id is taken over, and a tag names the caller; no value is invented.

Reading is total, as in `carrier.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...w3c_ids import fold as fold

MAX_STATE = 512
_MAX_MEMBERS = 32
_OURS = "sw"
_FORM = re.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_is_hex = re.compile("[0-9a-f]{32}").fullmatch
_MEMBER = re.compile(r"[a-z0-9][-a-z0-9_*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}")
_ZERO_TRACE, _ZERO_SPAN = "0" * 32, "0" * 16


class Traceparent(NamedTuple):
    """A caller that is known by its trace and its span alone.

    :ivar state: the header `tracestate` that came with it, without the entry of this agent
    """

    trace_id: str
    span_id: str
    flags: int
    state: str = ""

    @property
    def sampled(self) -> bool:
        """Whether this service may record the trace: always. The caller samples for itself only: a gateway that samples
        one trace of a hundred must not hide the traces here.
        """
        return True

    @property
    def is_recorded(self) -> bool:
        """Whether the caller says that it records the trace."""
        return bool(self.flags & 1)

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def parse_traceparent(value: object, state: object = None) -> Traceparent | None:
    """Read a `traceparent` header, text or bytes, and the `tracestate` with it; None unless it is well-formed."""
    text = _as_text(value)
    found = _FORM.fullmatch(text.strip(" \t")) if text is not None else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or trace_id == _ZERO_TRACE or span_id == _ZERO_SPAN:
        return None
    return Traceparent(trace_id, span_id, int(flags, 16), _others(state))


def is_w3c_id(trace_id: str) -> bool:
    """Whether a trace's id has the form that `traceparent` needs."""
    return _is_hex(trace_id) is not None


def format_traceparent(trace_id: str, segment_id: str, span_id: int) -> str:
    """Write a `traceparent` header; empty where the trace's id does not have the form."""
    # a segment's id is always this agent's own
    return f"00-{trace_id}-{fold(segment_id, span_id):016x}-01" if _is_hex(trace_id) else ""


def format_tracestate(others: str, segment_id: str, span_id: int) -> str:
    """Write a `tracestate` header: the place of the trace here, and then what others wrote."""
    ours = f"{_OURS}={segment_id}-{span_id}"
    return f"{ours},{others}" if others else ours


def _others(state: object) -> str:
    """The entries of a `tracestate` that are not this agent's; none where one is malformed or they are too many."""
    text = _as_text(state)
    if not text:
        return ""
    members = [member for part in text.split(",") if (member := part.strip(" \t"))]
    if len(members) > _MAX_MEMBERS or not all(map(_MEMBER.fullmatch, members)):
        return ""
    kept = [member for member in members if member.partition("=")[0] != _OURS]
    return ",".join(kept[: _MAX_MEMBERS - 1])


def _as_text(value: object) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str) or len(value) > MAX_STATE or not value.isascii():
        return None
    return str.__str__(value)
