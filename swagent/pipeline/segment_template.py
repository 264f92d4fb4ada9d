"""Segment templates: encoded segments with gaps, for segments that differ in a few places only.

Two segments of one span with the same span template differ in five places only: two ids, two times and the peer. So one
segment is encoded with marks in these places, and cut at the marks. The others are rendered by joining the pieces, in a
third of the time. This works if each value takes as many bytes as its mark did, since protobuf writes a length before
each message, and these lengths must stay true. An id always has 32 characters. All times of our age have the same
number of bytes. For peers there is a template for each length.
"""

from __future__ import annotations

from collections.abc import Callable

from ..record.trace.single_span import SingleSpanSegment, SpanTemplate

# Milliseconds of the years 2001 to 2109: 13 digits, and six bytes as a varint.
EARLIEST, LATEST = 10**12, 2**42 - 1
_TRACE_ID, _SEGMENT_ID = "~trace~id~" + "~" * 22, "~segment~" + "~" * 23
_START, _END = 1_111_111_111_111, 2_222_222_222_222


class SegmentTemplate:
    """The segments of one span template, with peers of one length."""

    __slots__ = ("_pieces",)

    def __init__(
        self,
        span_template: SpanTemplate,
        peer_length: int,
        encode: Callable[[SingleSpanSegment], bytes],
        encode_time: Callable[[int], bytes],
        prefixes: tuple[str, str] = ("", ""),
    ) -> None:
        """
        :param peer_length: in bytes
        :param prefixes: what all trace ids and all segment ids begin with: it is not to be rendered, then
        :raises ValueError: when a mark is found twice, since the span template has it in a text as well
        """
        peer = "^" * peer_length
        encoded = encode(SingleSpanSegment(span_template, _TRACE_ID, _SEGMENT_ID, _START, _END, peer))
        marks = [_TRACE_ID.encode(), _SEGMENT_ID.encode(), encode_time(_START), encode_time(_END)]
        if peer:
            marks.append(peer.encode())
        pieces: list[bytes] = []
        for mark in marks:
            if encoded.count(mark) != 1:
                raise ValueError(f"{mark!r} is not there once")
            piece, encoded = encoded.split(mark)
            pieces.append(piece)
        pieces[0] += prefixes[0].encode()
        pieces[1] += prefixes[1].encode()
        self._pieces = (*pieces, encoded) if peer else (*pieces, encoded, b"")

    def render(self, trace_id: bytes, segment_id: bytes, start: bytes, end: bytes, peer: bytes) -> bytes:
        """The encoded segment. Each argument takes as many bytes as the mark in its place did, an id less
        its prefix."""
        first, second, third, fourth, fifth, last = self._pieces
        return b"".join((first, trace_id, second, segment_id, third, start, fourth, end, fifth, peer, last))
