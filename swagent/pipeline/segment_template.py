"""Segment templates: encoded segments with gaps, for segments that differ in a few places only.

Two segments of one span with the same span template differ in a few places only: two ids, two times, the peer, and the
tags that say where the time went. So one segment is encoded with marks in these places, and is the format of the
others, which are rendered in a tenth of the time. This works if each value takes as many bytes as its mark did, since
protobuf writes a length before each message, and these lengths must stay true. An id always has 32 characters. All
times of our age have the same number of bytes. For peers there is a template for each length.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import NamedTuple

from ..record.trace.single_span import SingleSpanSegment, SpanTemplate
from .gaps import put_gaps

# Milliseconds of the years 2001 to 2109: 13 digits, and six bytes as a varint.
EARLIEST, LATEST = 10**12, 2**42 - 1
_TRACE_ID, _SEGMENT_ID = "~trace~id~" + "~" * 22, "~segment~" + "~" * 23
_START, _END = 1_111_111_111_111, 2_222_222_222_222


class Lengths(NamedTuple):
    """How long the parts are that differ, in bytes."""

    peer: int
    trace_id: int = 32
    reference: int = 0


def make_template(
    span_template: SpanTemplate,
    lengths: Lengths,
    encode: Callable[..., bytes],
    encode_time: Callable[[int], bytes],
    prefixes: tuple[str, str] = ("", ""),
    more: bytes = b"",
) -> bytes:
    """The segments of one span template, with parts of the same lengths, as a format of bytes. Rendered by `%` with the
    trace's id, the segment's id, start, end, reference, peer and the last tags. Each takes as many bytes as the mark in
    its place did, an id less its prefix.

    :param encode: encodes a segment of one span, and takes its reference as it is written
    :param prefixes: what all trace ids and all segment ids begin with: it is not to be rendered, then
    :param more: the last tags of the span template, as they are written: others of the same length take their place
    :raises ValueError: when a mark is found twice, since the span template has it in a text as well
    """
    peer, reference = "^" * lengths.peer, "@" * lengths.reference
    trace_id = (_TRACE_ID + "~" * lengths.trace_id)[: lengths.trace_id]
    encoded = encode(SingleSpanSegment(span_template, trace_id, _SEGMENT_ID, _START, _END, peer), reference)
    marks = [trace_id.encode(), _SEGMENT_ID.encode(), encode_time(_START), encode_time(_END)]
    before = [prefixes[0].encode(), prefixes[1].encode()]
    return put_gaps(encoded, zip_longest([*marks, reference.encode(), peer.encode(), more], before, fillvalue=b""))
