"""Written by hand: the attributes of OTLP and their values, each a KeyValue or an AnyValue without a length before it.

A value that is set is written even where it is a default: an empty text is a text.
"""

from __future__ import annotations

import struct

from swagent_proto.cache import PairCache
from swagent_proto.protobuf_fields import Heads, unique_text, varint
from swagent_proto.text import clean

_KEY, _VALUE, _TEXT = Heads(1), Heads(2), Heads(1)
_BOOL, _INT, _DOUBLE = b"\x10", b"\x18", b"\x21"
_pack_double = struct.Struct("<d").pack
_LEAST, _MOST = -(2**63), 2**63


def text_value(value: str) -> bytes:
    """A text; unsafe characters are replaced, as everywhere."""
    body = clean(value).encode()
    return _TEXT[len(body)] + body


def attribute(key: str, value: str | float | bool) -> bytes:
    """A key with a value: a text, a number or a truth value. An integer of more than 64 bits is a text."""
    if isinstance(value, bool):
        encoded = _BOOL + (b"\x01" if value else b"\x00")
    elif isinstance(value, int) and _LEAST <= value < _MOST:
        encoded = _INT + varint(value)
    elif isinstance(value, float):
        encoded = _DOUBLE + _pack_double(value)
    else:
        return TEXTS[key, str(value)]
    return unique_text(_KEY, key) + _VALUE[len(encoded)] + encoded


class _Texts(PairCache[bytes]):
    """Attributes with a text: they repeat from span to span."""

    __slots__ = ()

    def encode(self, key: tuple[str, str]) -> bytes:
        encoded = text_value(key[1])
        return unique_text(_KEY, key[0]) + _VALUE[len(encoded)] + encoded


TEXTS = _Texts()
