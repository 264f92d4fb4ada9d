"""The places of spans: a span of OTLP is a segment of its own, which its ids name; pure.

A caller that swagent records is named by its own segment, where the `tracestate` that travelled with the call has it.
The span's id proves that it is this one, and not one further up.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from swagent.w3c_ids import span_id_of

_OURS = re.compile(r"(?:^|,)[ \t]*sw=([0-9a-f]{32})-([0-9]{1,9})(?=[ \t]*(?:,|$))")


class Place(NamedTuple):
    """A span, by its segment and its number in it."""

    segment_id: str
    span_id: int


def own_place(trace_id: bytes, span_id: bytes) -> Place:
    """The place of a span of OTLP's."""
    return Place(f"{trace_id.hex()}{span_id.hex()}", 0)


def place_of(trace_id: bytes, span_id: bytes, state: str) -> Place:
    """The place of a span that is named by its ids.

    :param state: the `tracestate` that came with them
    """
    ours = _OURS.search(state)
    if ours is not None and span_id_of(ours[1], int(ours[2])) == span_id:
        return Place(ours[1], int(ours[2]))
    return own_place(trace_id, span_id)
