"""Ids as the W3C and OpenTelemetry have them: 16 bytes for a trace, 8 for a span.

SkyWalking has texts for traces and segments, and a number for a span in its segment. An id is derived from them, so
that each process finds the same id for the same span, whether it began the span or only heard of it.
"""

from __future__ import annotations

import hashlib
import re

_is_hex = re.compile("[0-9a-fA-F]{32}").fullmatch


def fold(segment_id: str, span_id: int) -> int:
    """A span's id as 64 bits. A W3C reader takes zero for no id; once in 2**64 times the result is zero."""
    number = int(segment_id, 16)
    # the receiver writes the span's number into the first four bytes, its lowest byte first
    high = span_id << 24 if span_id < 0x100 else int.from_bytes((span_id & 0xFFFFFFFF).to_bytes(4, "little"), "big")
    return (number >> 64) ^ (number & 0xFFFFFFFFFFFFFFFF) ^ (high << 32)


def is_hexadecimal(text: str) -> bool:
    """Whether it is an id of 32 hexadecimal digits, as this agent makes them."""
    return _is_hex(text) is not None


def trace_id_of(trace_id: str) -> bytes:
    """A trace's id as 16 bytes: the very digits where they are hexadecimal, with dashes or without; else a hash."""
    return bytes.fromhex(_digits(trace_id))


def span_id_of(segment_id: str, span_id: int) -> bytes:
    """The id of a span by its place, as 8 bytes."""
    return fold(_digits(segment_id), span_id).to_bytes(8, "big")


def _digits(text: str) -> str:
    """32 hexadecimal digits for any id."""
    if _is_hex(text):
        return text
    bare = text.replace("-", "")
    return bare if _is_hex(bare) else hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
